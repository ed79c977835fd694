"""Keyword memory in process memory: the reference implementation."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from runtime.events.event import Event
from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.memory_entry import MemoryEntry, distinct_words, entry_text, memory_entry_of
from runtime.sessions.session import Session


class InMemoryMemoryService(BaseMemoryService):
    """Find entries with at least one word of the query, in any case; most matching words first (contract Q15)."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], dict[str, list[MemoryEntry]]] = {}
        self._deleted_ids: set[tuple[str, str, str]] = set()

    async def add_session_to_memory(self, session: Session) -> None:
        sessions = self._entries.setdefault((session.app_name, session.user_id), {})
        sessions[session.id] = self._new_entries(session.app_name, session.user_id, session.events)

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
        new = self._new_entries(app_name, user_id, events)
        entries += [entry for entry in new if entry.id not in known]

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id is None:
            return
        self._deleted_ids.add((app_name, user_id, memory_id))
        for entries in self._entries.get((app_name, user_id), {}).values():
            entries[:] = [entry for entry in entries if entry.id != memory_id]

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        query_words = set(distinct_words(query))
        sessions = self._entries.get((app_name, user_id), {})
        matches = []
        for entries in sessions.values():
            for entry in entries:
                score = len(query_words.intersection(distinct_words(entry_text(entry))))
                if score:
                    matches.append((score, entry))
        # By score only: entries with equal scores keep their order.
        matches.sort(key=itemgetter(0), reverse=True)
        return SearchMemoryResponse(memories=[entry.model_copy(deep=True) for _, entry in matches])

    def _new_entries(self, app_name: str, user_id: str, events: Sequence[Event]) -> list[MemoryEntry]:
        entries = []
        for event in events:
            entry = memory_entry_of(event)
            if entry and (app_name, user_id, event.id) not in self._deleted_ids:
                entries.append(entry)
        return entries
