"""Artifact service for an agent that runs as a tool: it uses the calling session's artifacts (contract T6).

Such an agent runs in a temporary session; its files must outlive this session.
"""

from typing import TypedDict

from runtime import types
from runtime.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService


class SessionArgs(TypedDict):
    """App, user and id of a session, as keyword arguments of the services."""

    app_name: str
    user_id: str
    session_id: str


class BorrowedArtifactService(BaseArtifactService):
    """Read and write the artifacts of a single session, whichever session a call names."""

    def __init__(self, service: BaseArtifactService, args: SessionArgs) -> None:
        self._service = service
        self._args = args

    async def save_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, artifact: types.Part
    ) -> int:
        return await self._service.save_artifact(**self._args, filename=filename, artifact=artifact)

    async def load_artifact(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> types.Part | None:
        return await self._service.load_artifact(**self._args, filename=filename, version=version)

    async def list_artifact_keys(self, *, app_name: str, user_id: str, session_id: str) -> list[str]:
        return await self._service.list_artifact_keys(**self._args)

    async def delete_artifact(self, *, app_name: str, user_id: str, session_id: str, filename: str) -> None:
        await self._service.delete_artifact(**self._args, filename=filename)

    async def list_versions(
        self, *, app_name: str, user_id: str, session_id: str, filename: str
    ) -> list[int]:
        return await self._service.list_versions(**self._args, filename=filename)

    async def get_artifact_version(
        self, *, app_name: str, user_id: str, session_id: str, filename: str, version: int | None = None
    ) -> ArtifactVersion | None:
        return await self._service.get_artifact_version(**self._args, filename=filename, version=version)
