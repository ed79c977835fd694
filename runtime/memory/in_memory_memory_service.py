"""Memory in this process, found by keywords: the reference implementation."""

from __future__ import annotations

from runtime.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from runtime.memory.memory_entry import MemoryEntry
from runtime.memory.recall import entry_of, text_of, words_of
from runtime.sessions.session import Session


class InMemoryMemoryService(BaseMemoryService):
    """Matches any word of the query, whatever its case; what has most of them comes first (spec Q15)."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], dict[str, list[MemoryEntry]]] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        sessions = self._entries.setdefault((session.app_name, session.user_id), {})
        sessions[session.id] = [entry for event in session.events if (entry := entry_of(event))]

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        wanted = set(words_of(query))
        sessions = self._entries.get((app_name, user_id), {})
        found = [
            (len(wanted.intersection(words_of(text_of(entry)))), entry)
            for entries in sessions.values()
            for entry in entries
        ]
        matches = sorted((match for match in found if match[0]), key=lambda match: match[0], reverse=True)
        return SearchMemoryResponse(memories=[entry.model_copy(deep=True) for _, entry in matches])
