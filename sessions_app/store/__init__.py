"""The runtime's service contracts on PostgreSQL and Django's storage."""

from sessions_app.store.artifact_service import DjangoArtifactService
from sessions_app.store.credential_service import DjangoCredentialService
from sessions_app.store.memory_service import DjangoMemoryService
from sessions_app.store.session_service import DjangoSessionService

__all__ = [
    "DjangoArtifactService",
    "DjangoCredentialService",
    "DjangoMemoryService",
    "DjangoSessionService",
]
