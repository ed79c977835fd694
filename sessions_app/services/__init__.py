"""The runtime's service contracts on PostgreSQL and Django's storage."""

from sessions_app.services.artifact_service import DjangoArtifactService
from sessions_app.services.credential_service import DjangoCredentialService
from sessions_app.services.memory_service import DjangoMemoryService
from sessions_app.services.session_service import DjangoSessionService

__all__ = [
    "DjangoArtifactService",
    "DjangoCredentialService",
    "DjangoMemoryService",
    "DjangoSessionService",
]
