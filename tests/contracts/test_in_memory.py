"""The in-memory services keep the service contracts (contract S, F)."""

from __future__ import annotations

import pytest

from runtime.artifacts import InMemoryArtifactService
from runtime.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from runtime.memory import InMemoryMemoryService
from runtime.sessions import BaseSessionService, InMemorySessionService
from tests.contracts.append_event import AppendContract
from tests.contracts.artifact_service import ArtifactServiceContract
from tests.contracts.credential_service import CredentialServiceContract
from tests.contracts.memory_service import MemoryServiceContract, WordsOnlyContract
from tests.contracts.session_service import (
    GetConfigContract,
    SessionLifeContract,
    create_session,
    load_session,
    text_event,
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


@pytest.fixture
def credentials() -> InMemoryCredentialService:
    return InMemoryCredentialService()


class TestSessionLife(SessionLifeContract):
    pass


class TestAppend(AppendContract):
    pass


class TestGetConfig(GetConfigContract):
    pass


class TestArtifacts(ArtifactServiceContract):
    pass


class TestCredentials(CredentialServiceContract):
    pass


class TestMemory(MemoryServiceContract, WordsOnlyContract):
    pass


async def test_the_events_of_a_returned_session_are_copies(sessions: BaseSessionService, ada: str) -> None:
    """Contract S2."""
    session = await create_session(sessions, ada)
    event = await sessions.append_event(session, text_event("kept", n=[1]))
    for returned in (event, (await load_session(sessions, session)).events[0]):
        assert returned.content is not None and returned.content.parts
        returned.content.parts[0].text = "changed"
        returned.actions.state_delta["n"].append(2)
    loaded = await load_session(sessions, session)
    assert texts(loaded) == ["kept"]
    assert loaded.events[0].actions.state_delta == {"n": [1]}


async def test_invocations_share_the_events_of_a_long_session(sessions: BaseSessionService, ada: str) -> None:
    """Contract S2."""
    session = await create_session(sessions, ada)
    await sessions.append_event(session, text_event("one"))
    first, second = [await load_session(sessions, session, without_superseded=True) for _ in range(2)]
    assert first.events[0] is second.events[0]
    first.events.clear()
    assert texts(second) == texts(await load_session(sessions, session)) == ["one"]
