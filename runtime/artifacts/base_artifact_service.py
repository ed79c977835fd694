"""The contract of artifact storage: named, versioned files (contract F1)."""

import abc
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runtime import types


class ArtifactVersion(BaseModel):
    """Facts about a version of an artifact.

    Attributes:
        canonical_uri: reference to the version, as `ArtifactReference` writes it.
        create_time: seconds since the epoch.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    version: int
    canonical_uri: str
    custom_metadata: dict[str, Any] = Field(default_factory=dict)
    create_time: float
    mime_type: str | None = None


class BaseArtifactService(abc.ABC):
    """Store the artifacts of sessions. Files with names that start with `user:` are shared by the user's sessions."""

    @abc.abstractmethod
    async def save_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, artifact: types.Part
    ) -> int:
        """Store a new version and return its number. The first version is 0; each further version adds 1."""

    @abc.abstractmethod
    async def load_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> types.Part | None:
        """Return the given version, by default the latest; None if the artifact or the version does not exist."""

    @abc.abstractmethod
    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str) -> list[str]:
        """Return the sorted names of the session's files and of the user's `user:` files."""

    @abc.abstractmethod
    async def delete_artifact(self, *, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        """Delete all versions of the artifact; do nothing if it does not exist."""

    @abc.abstractmethod
    async def list_versions(
        self, *, app_name: str, user_id: str, session_id: str, filename: str
    ) -> list[int]:
        """Return the version numbers, oldest first."""

    @abc.abstractmethod
    async def get_artifact_version(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> ArtifactVersion | None:
        """Return the facts about a version, by default the latest; None if it does not exist."""
