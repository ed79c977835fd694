"""Contract T6: an agent that runs as a tool works with the artifacts of its caller."""

from __future__ import annotations

from runtime import types
from runtime.artifacts import InMemoryArtifactService
from runtime.artifacts.borrowed_artifact_service import BorrowedArtifactService


async def test_all_operations_act_on_the_owners_artifacts() -> None:
    service = InMemoryArtifactService()
    owner = {"app_name": "shop", "user_id": "ada", "session_id": "s1"}
    borrowed = BorrowedArtifactService(service, {"app_name": "shop", "user_id": "ada", "session_id": "s1"})
    child = {"app_name": "child", "user_id": "x", "session_id": "s2"}
    part = types.Part(text="x")
    assert await borrowed.save_artifact(**child, filename="a", artifact=part) == 0
    assert await service.save_artifact(**owner, filename="a", artifact=types.Part(text="y")) == 1
    assert await borrowed.load_artifact(**child, filename="a", version=0) == part
    assert await borrowed.list_artifact_keys(**child) == ["a"]
    assert await borrowed.list_versions(**child, filename="a") == [0, 1]
    await borrowed.delete_artifact(**child, filename="a")
    assert await service.list_artifact_keys(**owner) == []
    assert await service.list_artifact_keys(**child) == []
