"""The services on PostgreSQL and Django's file storage keep the service contracts (contract S, F)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from string import ascii_lowercase

import pytest
from django.contrib.auth import get_user_model
from pytest_django.fixtures import Settings

from runtime.errors import SessionNotFoundError
from runtime.memory import SearchMemoryResponse
from runtime.sessions import BaseSessionService
from sessions_app.errors import NotFoundError
from sessions_app.models import MemoryEntry
from sessions_app.process.threads import in_thread
from sessions_app.shutdown import shut_down
from sessions_app.store import (
    DjangoArtifactService,
    DjangoCredentialService,
    DjangoMemoryService,
    DjangoSessionService,
)
from sessions_app.store.embedding import embed_waiting
from sessions_app.store.memory_vectors import prepare_vectors
from tests.contracts.append_event import AppendContract
from tests.contracts.artifact_service import ArtifactServiceContract, Shelf
from tests.contracts.credential_service import CredentialServiceContract
from tests.contracts.memory_service import MemoryServiceContract, WordsOnlyContract
from tests.contracts.session_service import (
    APP,
    GetConfigContract,
    SessionLifeContract,
    create_session,
)
from tests.model_server import ModelServer


@pytest.fixture(autouse=True)
async def close_connection_pool(transactional_db: None) -> AsyncIterator[None]:
    """Close the connection pool of this test's event loop."""
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


@pytest.fixture
def credentials() -> DjangoCredentialService:
    return DjangoCredentialService()


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


class EmbeddedMemory(DjangoMemoryService):
    """The service, in which each search finds the vectors of all entries."""

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        await embed_waiting()
        return await super().search_memory(app_name=app_name, user_id=user_id, query=query)


class TestMemoryWithVectors(MemoryServiceContract):
    @pytest.fixture
    async def memory(self, settings: Settings) -> AsyncIterator[DjangoMemoryService]:
        async with ModelServer() as server:
            server.embeddings.vector_of = lambda text: [
                1.0 + text.count(letter) for letter in ascii_lowercase
            ]
            settings.ADK = {**settings.ADK, "embeddings": {f"{server.url}/v1#letters": len(ascii_lowercase)}}
            await in_thread(prepare_vectors)
            yield EmbeddedMemory()
            assert len(server.embeddings.batches) > 1 or not await MemoryEntry.objects.aexists()


@pytest.mark.parametrize("user_id", ["nobody", "", "999999999"])
async def test_an_unknown_user_has_no_sessions_and_cannot_create_one(
    sessions: BaseSessionService, user_id: str
) -> None:
    """Contract S2: `user_id` is the primary key of a user, as text."""
    with pytest.raises(NotFoundError, match="user"):
        await create_session(sessions, user_id)
    assert await sessions.get_session(app_name=APP, user_id=user_id, session_id="s") is None
    assert (await sessions.list_sessions(app_name=APP, user_id=user_id)).sessions == []
    await sessions.delete_session(app_name=APP, user_id=user_id, session_id="s")


async def test_an_artifact_needs_an_existing_session(artifacts: DjangoArtifactService, ada: str) -> None:
    """Contract F1."""
    shelf = Shelf(artifacts, ada, "nowhere")
    with pytest.raises(SessionNotFoundError, match="'nowhere'"):
        await shelf.save("a", "x")
    assert await shelf.names() == []
