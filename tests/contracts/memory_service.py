"""Contract of memory services (F3, Q15). Run by test_in_memory.py and test_django.py.

Both provide the fixtures `memory` and `sessions` (the services), `ada` and `bob` (ids of existing users).
"""

from __future__ import annotations

import pytest

from runtime.events import Event
from runtime.memory import BaseMemoryService, MemoryEntry
from runtime.sessions import BaseSessionService, Session
from tests.fakes import text_content

APP = "shop"


async def search(memory: BaseMemoryService, user_id: str, query: str, app_name: str = APP) -> list[str]:
    """Return the texts of the entries that a search finds, best first."""
    response = await memory.search_memory(app_name=app_name, user_id=user_id, query=query)
    return ["".join(part.text or "" for part in entry.content.parts or []) for entry in response.memories]


async def add_to_memory(
    memory: BaseMemoryService, sessions: BaseSessionService, user_id: str, *texts: str
) -> Session:
    """Create a session with these texts and add it to memory."""
    session = await sessions.create_session(app_name=APP, user_id=user_id)
    for text in texts:
        await sessions.append_event(session, Event(author="clerk", content=text_content(text)))
    await memory.add_session_to_memory(session)
    return session


class WordsOnlyContract:
    """Contract Q15: a service without vectors finds texts by their words alone."""

    async def test_any_word_matches_in_any_case(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        await add_to_memory(memory, sessions, ada, "The Bicycle is red.", "Tea at five")
        assert await search(memory, ada, "blue BICYCLE") == ["The Bicycle is red."]
        assert await search(memory, ada, "helicopter") == []


class MemoryServiceContract:
    """Contract F3: text of earlier sessions is found."""

    async def test_entries_with_more_matching_words_come_first(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        await add_to_memory(memory, sessions, ada, "green tea", "green bicycle saddle", "bicycle saddle shop")
        best = await search(memory, ada, "green bicycle saddle")
        assert best[0] == "green bicycle saddle"
        assert set(best[1:]) == {"green tea", "bicycle saddle shop"}

    async def test_an_entry_has_the_id_the_author_and_the_time_of_its_event(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        session = await add_to_memory(memory, sessions, ada, "bicycle")
        [entry] = (await memory.search_memory(app_name=APP, user_id=ada, query="bicycle")).memories
        assert (entry.id, entry.author) == (session.events[0].id, "clerk")
        assert entry.custom_metadata == {}
        assert entry.timestamp is not None and entry.timestamp.startswith("20") and "T" in entry.timestamp

    async def test_memories_of_another_user_or_app_are_not_found(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        await add_to_memory(memory, sessions, ada, "bicycle")
        assert await search(memory, bob, "bicycle") == []
        assert await search(memory, ada, "bicycle", app_name="other") == []

    async def test_adding_a_session_again_replaces_its_entries(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        await add_to_memory(memory, sessions, ada, "old bicycle")
        session = await add_to_memory(memory, sessions, ada, "bicycle")
        await sessions.append_event(session, Event(author="clerk", content=text_content("bicycle bell")))
        await memory.add_session_to_memory(session)
        assert sorted(await search(memory, ada, "bicycle")) == ["bicycle", "bicycle bell", "old bicycle"]

    async def test_added_events_stand_beside_the_entries_of_their_session(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        session = await add_to_memory(memory, sessions, ada, "bicycle")
        await sessions.append_event(session, Event(author="clerk", content=text_content("bicycle bell")))
        await sessions.append_event(session, Event(author="clerk", content=text_content("bicycle lock")))
        for _ in range(2):
            await memory.add_events_to_memory(
                app_name=APP, user_id=ada, session_id=session.id, events=session.events[:2]
            )
        assert sorted(await search(memory, ada, "bicycle")) == ["bicycle", "bicycle bell"]

    async def test_entries_that_are_no_events_are_refused(self, memory: BaseMemoryService, ada: str) -> None:
        entry = MemoryEntry(content=text_content("bicycle"))
        with pytest.raises(NotImplementedError, match="Use add_events_to_memory"):
            await memory.add_memory(app_name=APP, user_id=ada, memories=[entry])

    async def test_events_without_text_are_not_added_to_memory(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str
    ) -> None:
        session = await sessions.create_session(app_name=APP, user_id=ada)
        await sessions.append_event(session, Event(author="clerk", error_code="bicycle"))
        await memory.add_session_to_memory(session)
        assert await search(memory, ada, "bicycle") == []

    async def test_a_deleted_entry_is_not_found_and_does_not_come_back(
        self, memory: BaseMemoryService, sessions: BaseSessionService, ada: str, bob: str
    ) -> None:
        session = await add_to_memory(memory, sessions, ada, "red bicycle", "green bicycle")
        red = session.events[0].id
        await memory.delete_memory(app_name=APP, user_id=bob, memory_id=red)
        await memory.delete_memory(app_name="other", user_id=ada, memory_id=red)
        for missing in (None, "unknown", "nul\0", "half \ud800"):
            await memory.delete_memory(app_name=APP, user_id=ada, memory_id=missing)
        assert sorted(await search(memory, ada, "bicycle")) == ["green bicycle", "red bicycle"]
        await memory.delete_memory(app_name=APP, user_id=ada, memory_id=red)
        assert await search(memory, ada, "bicycle") == ["green bicycle"]
        await memory.add_session_to_memory(session)
        await memory.add_events_to_memory(
            app_name=APP, user_id=ada, session_id=session.id, events=session.events
        )
        assert await search(memory, ada, "bicycle") == ["green bicycle"]
