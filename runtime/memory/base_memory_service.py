"""The contract of memory: text of earlier sessions, found by keywords (contract F3)."""

from __future__ import annotations

import abc

from pydantic import BaseModel, Field

from runtime.memory.memory_entry import MemoryEntry
from runtime.sessions.session import Session


class SearchMemoryResponse(BaseModel):
    """The entries that a search found, best first."""

    memories: list[MemoryEntry] = Field(default_factory=list)


class BaseMemoryService(abc.ABC):
    """Stores the text of a user's sessions for later search. Users and apps are kept apart."""

    @abc.abstractmethod
    async def add_session_to_memory(self, session: Session) -> None:
        """Store the session's text; a later call for the same session replaces its entries."""

    @abc.abstractmethod
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the user's entries that contain any word of the query."""
