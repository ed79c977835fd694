"""Keyword memory in process memory: the reference implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from runtime.events.event import Event
from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.memory_entry import MemoryEntry
from runtime.memory.recall import memory_entry_of, text_of, words_of
from runtime.sessions.session import Session


class InMemoryMemoryService(BaseMemoryService):
    """Find entries with at least one word of the query, in any case; most matching words first (contract Q15)."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], dict[str, list[MemoryEntry]]] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        sessions = self._entries.setdefault((session.app_name, session.user_id), {})
        sessions[session.id] = [entry for event in session.events if (entry := memory_entry_of(event))]

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add the events that are not stored yet. The metadata is ignored."""
        sessions = self._entries.setdefault((app_name, user_id), {})
        entries = sessions.setdefault(session_id or "", [])
        known = {entry.id for entry in entries}
        entries += [entry for event in events if event.id not in known and (entry := memory_entry_of(event))]

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        query_words = set(words_of(query))
        sessions = self._entries.get((app_name, user_id), {})
        matches = []
        for entries in sessions.values():
            for entry in entries:
                score = len(query_words.intersection(words_of(text_of(entry))))
                if score:
                    matches.append((score, entry))
        # By score only: entries with equal scores keep their order.
        matches.sort(key=itemgetter(0), reverse=True)
        return SearchMemoryResponse(memories=[entry.model_copy(deep=True) for _, entry in matches])
