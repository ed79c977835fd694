"""The services on PostgreSQL and Django's storage keep the contracts of the services (spec S, F)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from django.contrib.auth import get_user_model

from runtime.errors import SessionNotFoundError
from runtime.sessions import BaseSessionService
from sessions_app.errors import NotFoundError
from sessions_app.services import DjangoArtifactService, DjangoMemoryService, DjangoSessionService
from sessions_app.shutdown import shut_down
from tests.contracts.artifact_service import ArtifactServiceContract, Shelf
from tests.contracts.memory_service import MemoryServiceContract
from tests.contracts.session_service import (
    APP,
    AppendContract,
    GetConfigContract,
    SessionLifeContract,
    opened,
)


@pytest.fixture(autouse=True)
async def loop_end(transactional_db: None) -> AsyncIterator[None]:
    """Closes the pool of this test's loop."""
    yield
    await shut_down()


@pytest.fixture
def ada(transactional_db: None) -> str:
    return str(get_user_model().objects.create_user("ada").pk)


@pytest.fixture
def bob(transactional_db: None) -> str:
    return str(get_user_model().objects.create_user("bob").pk)


@pytest.fixture
def sessions() -> DjangoSessionService:
    return DjangoSessionService()


@pytest.fixture
def artifacts() -> DjangoArtifactService:
    return DjangoArtifactService()


@pytest.fixture
def memory() -> DjangoMemoryService:
    return DjangoMemoryService()


class TestSessionLife(SessionLifeContract):
    pass


class TestAppend(AppendContract):
    pass


class TestGetConfig(GetConfigContract):
    pass


class TestArtifacts(ArtifactServiceContract):
    pass


class TestMemory(MemoryServiceContract):
    pass


@pytest.mark.parametrize("user_id", ["nobody", "", "999999999"])
async def test_a_user_that_there_is_not_gets_no_session_and_sees_none(
    sessions: BaseSessionService, user_id: str
) -> None:
    """S2: `user_id` is the primary key of a user, as text (design.md)."""
    with pytest.raises(NotFoundError, match="user"):
        await opened(sessions, user_id)
    assert await sessions.get_session(app_name=APP, user_id=user_id, session_id="s") is None
    assert (await sessions.list_sessions(app_name=APP, user_id=user_id)).sessions == []
    await sessions.delete_session(app_name=APP, user_id=user_id, session_id="s")


async def test_a_file_needs_a_session_to_be_kept_in(artifacts: DjangoArtifactService, ada: str) -> None:
    """F1."""
    shelf = Shelf(artifacts, ada, "nowhere")
    with pytest.raises(SessionNotFoundError, match="'nowhere'"):
        await shelf.save("a", "x")
    assert await shelf.names() == []
