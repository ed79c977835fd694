"""Artifact storage in process memory: the reference implementation."""

from runtime import _platform, types
from runtime.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from runtime.artifacts.referenced_artifacts import ArtifactReference

USER_PREFIX = "user:"
Key = tuple[str, str, str, str]


class InMemoryArtifactService(BaseArtifactService):
    """Keep every version in a dict, until the process ends."""

    def __init__(self) -> None:
        self._versions: dict[Key, list[tuple[types.Part, ArtifactVersion]]] = {}

    async def save_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, artifact: types.Part
    ) -> int:
        versions = self._versions.setdefault(_key(app_name, user_id, session_id, filename), [])
        version = len(versions)
        mime_type = _mime_type(artifact)
        facts = ArtifactVersion(
            version=version,
            canonical_uri=ArtifactReference(filename, version, mime_type or "").uri,
            create_time=_platform.now(),
            mime_type=mime_type,
        )
        # Copied in and out, so a caller cannot change a stored version.
        versions.append((artifact.model_copy(deep=True), facts))
        return version

    async def load_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> types.Part | None:
        found = self._find(_key(app_name, user_id, session_id, filename), version)
        return found and found[0].model_copy(deep=True)

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str) -> list[str]:
        scopes = {(app_name, user_id, session_id), (app_name, user_id, "")}
        return sorted(key[3] for key in self._versions if key[:3] in scopes)

    async def delete_artifact(self, *, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        self._versions.pop(_key(app_name, user_id, session_id, filename), None)

    async def list_versions(
        self, *, app_name: str, user_id: str, session_id: str, filename: str
    ) -> list[int]:
        return list(range(len(self._versions.get(_key(app_name, user_id, session_id, filename), []))))

    async def get_artifact_version(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> ArtifactVersion | None:
        found = self._find(_key(app_name, user_id, session_id, filename), version)
        return found and found[1].model_copy(deep=True)

    def _find(self, key: Key, version: int | None) -> tuple[types.Part, ArtifactVersion] | None:
        versions = self._versions.get(key, [])
        if version is None:
            version = len(versions) - 1
        if 0 <= version < len(versions):
            return versions[version]
        return None


def _mime_type(artifact: types.Part) -> str | None:
    if artifact.inline_data is not None:
        return artifact.inline_data.mime_type
    if artifact.text is not None:
        return "text/plain"
    return None


def _key(app_name: str, user_id: str, session_id: str, filename: str) -> Key:
    # Files of the user are the same in all sessions.
    if filename.startswith(USER_PREFIX):
        session_id = ""
    return app_name, user_id, session_id, filename
