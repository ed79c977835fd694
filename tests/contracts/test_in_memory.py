"""The reference implementations keep the contracts of the services (spec S, F)."""

from __future__ import annotations

import pytest

from runtime.artifacts import InMemoryArtifactService
from runtime.memory import InMemoryMemoryService
from runtime.sessions import BaseSessionService, InMemorySessionService
from tests.contracts.artifact_service import ArtifactServiceContract
from tests.contracts.memory_service import MemoryServiceContract
from tests.contracts.session_service import (
    AppendContract,
    GetConfigContract,
    SessionLifeContract,
    opened,
    said,
    stored,
    texts,
)


@pytest.fixture
def ada() -> str:
    return "ada"


@pytest.fixture
def bob() -> str:
    return "bob"


@pytest.fixture
def sessions() -> InMemorySessionService:
    return InMemorySessionService()


@pytest.fixture
def artifacts() -> InMemoryArtifactService:
    return InMemoryArtifactService()


@pytest.fixture
def memory() -> InMemoryMemoryService:
    return InMemoryMemoryService()


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


async def test_even_the_events_of_a_returned_session_are_copies(
    sessions: BaseSessionService, ada: str
) -> None:
    """S2."""
    session = await opened(sessions, ada)
    event = await sessions.append_event(session, said("kept", n=[1]))
    for one in (event, (await stored(sessions, session)).events[0]):
        assert one.content is not None and one.content.parts
        one.content.parts[0].text = "changed"
        one.actions.state_delta["n"].append(2)
    loaded = await stored(sessions, session)
    assert texts(loaded) == ["kept"]
    assert loaded.events[0].actions.state_delta == {"n": [1]}
