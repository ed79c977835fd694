"""The contract of memory: what was said in earlier sessions, found by words (spec F3)."""

from __future__ import annotations

import abc

from pydantic import BaseModel, Field

from runtime.memory.memory_entry import MemoryEntry
from runtime.sessions.session import Session


class SearchMemoryResponse(BaseModel):
    """What a search found, best first."""

    memories: list[MemoryEntry] = Field(default_factory=list)


class BaseMemoryService(abc.ABC):
    """Remembers sessions of a user in an app."""

    @abc.abstractmethod
    async def add_session_to_memory(self, session: Session) -> None:
        """Remember the session's contents; doing it again replaces what was remembered of it."""

    @abc.abstractmethod
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The entries of the user that match any word of the query."""
