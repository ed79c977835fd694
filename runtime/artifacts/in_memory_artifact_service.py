"""Artifact storage in process memory: the reference implementation."""

from __future__ import annotations

from runtime import types
from runtime.artifacts.base_artifact_service import BaseArtifactService

USER_PREFIX = "user:"
Key = tuple[str, str, str, str]


class InMemoryArtifactService(BaseArtifactService):
    """Keeps every version in a dict; all versions are lost when the process ends."""

    def __init__(self) -> None:
        self._versions: dict[Key, list[types.Part]] = {}

    async def save_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, artifact: types.Part
    ) -> int:
        versions = self._versions.setdefault(_key(app_name, user_id, session_id, filename), [])
        versions.append(artifact.model_copy(deep=True))
        return len(versions) - 1

    async def load_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> types.Part | None:
        versions = self._versions.get(_key(app_name, user_id, session_id, filename), [])
        index = len(versions) - 1 if version is None else version
        return versions[index].model_copy(deep=True) if 0 <= index < len(versions) else None

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str) -> list[str]:
        scopes = {(app_name, user_id, session_id), (app_name, user_id, "")}
        return sorted(key[3] for key in self._versions if key[:3] in scopes)

    async def delete_artifact(self, *, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        self._versions.pop(_key(app_name, user_id, session_id, filename), None)

    async def list_versions(
        self, *, app_name: str, user_id: str, session_id: str, filename: str
    ) -> list[int]:
        return list(range(len(self._versions.get(_key(app_name, user_id, session_id, filename), []))))


def _key(app_name: str, user_id: str, session_id: str, filename: str) -> Key:
    return (app_name, user_id, "" if filename.startswith(USER_PREFIX) else session_id, filename)
