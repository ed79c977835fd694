"""The contract of artifact storage: named, versioned files (spec F1)."""

from __future__ import annotations

import abc

from runtime import types


class BaseArtifactService(abc.ABC):
    """Stores artifacts of sessions. A filename that starts with `user:` belongs to the user, in every session."""

    @abc.abstractmethod
    async def save_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, artifact: types.Part
    ) -> int:
        """Store a new version and return its number: 0 for the first, then one more each time."""

    @abc.abstractmethod
    async def load_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> types.Part | None:
        """A version, the latest when none is named; None when there is no such artifact or version."""

    @abc.abstractmethod
    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str) -> list[str]:
        """The filenames that the session sees, sorted, the user's among them."""

    @abc.abstractmethod
    async def delete_artifact(self, *, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        """Delete all versions; nothing happens when there are none."""

    @abc.abstractmethod
    async def list_versions(
        self, *, app_name: str, user_id: str, session_id: str, filename: str
    ) -> list[int]:
        """The version numbers, oldest first."""
