"""Memory service on PostgreSQL, beyond the contract of all memory services in tests/contracts (contract F3, Q15)."""

from __future__ import annotations

import asyncio

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from runtime.agents import LlmAgent
from runtime.errors import SessionNotFoundError
from runtime.events import Event
from runtime.runners import Runner
from runtime.sessions import Session
from runtime.tools import load_memory, preload_memory
from sessions_app.models import MemoryEntry
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoMemoryService, DjangoSessionService
from tests.fakes import ScriptedModel, call, say, text_content

pytestmark = pytest.mark.usefixtures("loop_end")
APP = "pets"


async def add_memory(person: User, *texts: str) -> Session:
    sessions = DjangoSessionService()
    session = await sessions.create_session(app_name=APP, user_id=str(person.pk))
    for text in texts:
        await sessions.append_event(session, Event(author="clerk", content=text_content(text)))
    await DjangoMemoryService().add_session_to_memory(session)
    return session


async def search(person: User, query: str, limit: int = 20) -> list[str | None]:
    service = DjangoMemoryService(limit=limit)
    result = await service.search_memory(app_name=APP, user_id=str(person.pk), query=query)
    return [(entry.content.parts or [])[0].text for entry in result.memories]


async def test_f3_most_words_first_then_the_newest_up_to_the_limit(person: User) -> None:
    await add_memory(person, "red bicycle", "red tea", "green tea")
    assert await search(person, "red bicycle tea") == ["red tea", "red bicycle", "green tea"]
    assert await search(person, "red bicycle tea", limit=1) == ["red tea"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Write to ada@example.com", "ADA"),
        ("See https://example.com/a/b?c=d", "d"),
        ("ÄRGER in der Straße", "ärger"),
        ("it is -1.5 or 'not' & | ! <-> :*", "5"),
        ("this or that", "or"),
        ("the end", "The"),
    ],
)
async def test_q15_a_word_is_found_despite_the_characters_around_it(
    person: User, text: str, query: str
) -> None:
    await add_memory(person, text)
    assert await search(person, query) == [text]
    assert await search(person, f"'; \" {query} ((( -x !") == [text]


@pytest.mark.parametrize("query", ["", "   ", "?!", "\0", "absent"])
async def test_f3_a_query_without_a_known_word_finds_nothing(person: User, query: str) -> None:
    await add_memory(person, "bicycle")
    assert await search(person, query) == []


async def test_f3_a_whole_message_may_be_the_query(person: User) -> None:
    await add_memory(person, "bicycle")
    assert await search(person, "bicycle " + " ".join(f"w{n}" for n in range(10_000))) == ["bicycle"]


async def test_f3_a_very_long_text_is_remembered(person: User) -> None:
    text = " ".join(f"word{n}" for n in range(200_000))
    await add_memory(person, text)
    assert await search(person, "word7") == [text]


async def test_f3_a_session_that_is_added_concurrently_is_remembered_once(person: User) -> None:
    session = await add_memory(person, "bicycle")
    await asyncio.gather(*(DjangoMemoryService().add_session_to_memory(session) for _ in range(4)))
    assert await search(person, "bicycle") == ["bicycle"]


async def test_f3_events_that_are_no_longer_in_the_session_are_forgotten(person: User) -> None:
    session = await add_memory(person, "red bicycle", "green bicycle")
    del session.events[0]
    await DjangoMemoryService().add_session_to_memory(session)
    assert await search(person, "bicycle") == ["green bicycle"]


async def test_f3_a_deleted_session_is_forgotten(person: User) -> None:
    session = await add_memory(person, "bicycle")
    await DjangoSessionService().delete_session(app_name=APP, user_id=str(person.pk), session_id=session.id)
    assert await search(person, "bicycle") == []
    with pytest.raises(SessionNotFoundError, match=session.id):
        await DjangoMemoryService().add_session_to_memory(session)


async def test_f3_a_search_uses_the_index_of_words(person: User) -> None:
    def plan() -> str:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            return MemoryEntry.objects.with_any_word(["bicycle"]).explain()

    await add_memory(person, "bicycle")
    assert "memory_entry_words" in await in_thread(plan)


async def test_f3_t9_an_agent_recalls_an_earlier_session(person: User) -> None:
    await add_memory(person, "My cat is called Mia.")
    model = ScriptedModel(turns=[call("load_memory", query="cat"), "Mia."])
    sessions = DjangoSessionService()
    runner = Runner(
        app_name=APP,
        agent=LlmAgent(name="pal", model=model, tools=[load_memory, preload_memory]),
        session_service=sessions,
        memory_service=DjangoMemoryService(),
    )
    session = await sessions.create_session(app_name=APP, user_id=str(person.pk))
    message = say("What is my CAT called?")
    async for _ in runner.run_async(user_id=str(person.pk), session_id=session.id, new_message=message):
        pass
    assert "clerk: My cat is called Mia." in str(model.requests[0].contents)
    response, recalled = model.requests[1].contents[-2:]
    [answer] = [part.function_response for part in response.parts or []]
    assert answer is not None and "Mia" in str(answer.response)
    assert "Mia" in str(recalled)
