"""Memory in this process, found by keywords: the reference implementation."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from runtime.events.event import Event
from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.memory_entry import MemoryEntry
from runtime.sessions.session import Session


class InMemoryMemoryService(BaseMemoryService):
    """Matches any word of the query, whatever its case (spec Q15)."""

    def __init__(self) -> None:
        self._events: dict[tuple[str, str], dict[str, list[Event]]] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        sessions = self._events.setdefault((session.app_name, session.user_id), {})
        sessions[session.id] = [event.model_copy(deep=True) for event in session.events if event.text()]

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        wanted = _words(query)
        sessions = self._events.get((app_name, user_id), {})
        found = [
            (len(wanted & _words(event.text())), event) for events in sessions.values() for event in events
        ]
        matches = sorted((match for match in found if match[0]), key=lambda match: match[0], reverse=True)
        return SearchMemoryResponse(memories=[_entry(event) for _, event in matches])


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"\w+", text)}


def _entry(event: Event) -> MemoryEntry:
    assert event.content is not None  # noqa: S101 - only events with text are kept
    when = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    return MemoryEntry(content=event.content, author=event.author, timestamp=when)
