"""The contract of memory: text of earlier sessions, searched by keywords (contract F3)."""

import abc
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from runtime.events.event import Event
from runtime.memory.memory_entry import MemoryEntry
from runtime.sessions.session import Session


class SearchMemoryResponse(BaseModel):
    """Entries found by a search, best first."""

    memories: list[MemoryEntry] = Field(default_factory=list)


class BaseMemoryService(abc.ABC):
    """Store the text of sessions for later search, separately for each user and app."""

    @abc.abstractmethod
    async def add_session_to_memory(self, session: Session) -> None:
        """Store the session's text; a later call for the same session replaces its entries."""

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add the text of some events of a session; keep its other entries.

        Raises:
            NotImplementedError: the service stores whole sessions only.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not store single events. Use add_session_to_memory."
        )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add entries that do not come from events.

        Raises:
            NotImplementedError: the service stores the text of events only.
        """
        raise NotImplementedError(
            f"{type(self).__name__} stores the text of events only. Use add_events_to_memory or "
            "add_session_to_memory."
        )

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget the user's entry with this id, also when its session is added again. Without an id do nothing.

        Raises:
            NotImplementedError: the service cannot forget single entries.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot forget single entries. Delete their session."
        )

    @abc.abstractmethod
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the user's entries with at least one word of the query."""
