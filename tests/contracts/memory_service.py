"""What every memory service does: F3, Q15. Run by test_in_memory.py and test_django.py.

The modules that run it provide the fixtures `memory` and `sessions` (the services), `ada` and `bob` (user ids).
"""

from __future__ import annotations

from runtime.events import Event
from runtime.memory import BaseMemoryService
from runtime.sessions import BaseSessionService, Session
from tests.fakes import text_content

APP = "shop"


async def found(memory: BaseMemoryService, user_id: str, query: str, app_name: str = APP) -> list[str]:
    """The texts that a search gives, best first."""
    response = await memory.search_memory(app_name=app_name, user_id=user_id, query=query)
    return ["".join(part.text or "" for part in entry.content.parts or []) for entry in response.memories]


async def remembered(
    memory: BaseMemoryService, sessions: BaseSessionService, user_id: str, *texts: str
) -> Session:
    """A session in which this was said, added to memory."""
    session = await sessions.create_session(app_name=APP, user_id=user_id)
    for text in texts:
        await sessions.append_event(session, Event(author="clerk", content=text_content(text)))
    await memory.add_session_to_memory(session)
    return session


class MemoryServiceContract:
    """F3: what was said in earlier sessions is found by its words."""

    async def test_any_word_matches_whatever_its_case(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        """Q15."""
        await remembered(memory, sessions, ada, "The Bicycle is red.", "Tea at five")
        assert await found(memory, ada, "blue BICYCLE") == ["The Bicycle is red."]
        assert await found(memory, ada, "helicopter") == []

    async def test_what_matches_more_words_comes_first(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        await remembered(memory, sessions, ada, "green tea", "green bicycle saddle", "bicycle saddle shop")
        best = await found(memory, ada, "green bicycle saddle")
        assert best[0] == "green bicycle saddle"
        assert set(best[1:]) == {"green tea", "bicycle saddle shop"}

    async def test_an_entry_says_who_said_it_and_when(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        await remembered(memory, sessions, ada, "bicycle")
        [entry] = (await memory.search_memory(app_name=APP, user_id=ada, query="bicycle")).memories
        assert entry.author == "clerk"
        assert entry.timestamp is not None and entry.timestamp.startswith("20") and "T" in entry.timestamp

    async def test_nobody_finds_what_another_user_or_app_remembers(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        await remembered(memory, sessions, ada, "bicycle")
        assert await found(memory, bob, "bicycle") == []
        assert await found(memory, ada, "bicycle", app_name="other") == []

    async def test_adding_a_session_again_replaces_what_was_remembered_of_it(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        await remembered(memory, sessions, ada, "old bicycle")
        session = await remembered(memory, sessions, ada, "bicycle")
        await sessions.append_event(session, Event(author="clerk", content=text_content("bicycle bell")))
        await memory.add_session_to_memory(session)
        assert sorted(await found(memory, ada, "bicycle")) == ["bicycle", "bicycle bell", "old bicycle"]

    async def test_events_without_text_are_not_remembered(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        session = await sessions.create_session(app_name=APP, user_id=ada)
        await sessions.append_event(session, Event(author="clerk", error_code="bicycle"))
        await memory.add_session_to_memory(session)
        assert await found(memory, ada, "bicycle") == []
