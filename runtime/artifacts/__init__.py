"""Artifacts: versioned files of a session or a user."""

from runtime.artifacts.base_artifact_service import BaseArtifactService
from runtime.artifacts.in_memory_artifact_service import InMemoryArtifactService

__all__ = ["BaseArtifactService", "InMemoryArtifactService"]
