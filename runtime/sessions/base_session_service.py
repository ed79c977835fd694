"""The contract of session storage (spec S2, S3)."""

from __future__ import annotations

import abc
import copy
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from pydantic import BaseModel, Field

from runtime.events.event import Event
from runtime.sessions.deltas import as_json, without_temp
from runtime.sessions.session import Session, update_time


class GetSessionConfig(BaseModel):
    """Which events to load: the last so many, or those from a time on (inclusive, spec Q15); without it, all.

    Attributes:
        without_superseded: leave out what was rewound, and what a summary stands for but the last event of it
            (spec R3, R4): what a turn begins with. Not together with the others.
    """

    num_recent_events: int | None = None
    after_timestamp: float | None = None
    without_superseded: bool = False


class ListSessionsResponse(BaseModel):
    """Sessions without their events."""

    sessions: list[Session] = Field(default_factory=list)


class BaseSessionService(abc.ABC):
    """Stores sessions and commits events."""

    @abc.abstractmethod
    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; keys of `state` are stored in the scope of their prefix, and `temp:` ones are not.

        Raises:
            AlreadyExistsError: there is a session with this id.
            StateValueError: a state value that is to be stored is no JSON.
        """

    @abc.abstractmethod
    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """The session with its merged state, or None. Changing it does not change the store."""

    @abc.abstractmethod
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of a user, or of all users, without events."""

    @abc.abstractmethod
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the session and its events; nothing happens when there is none."""

    async def initial_state(self, *, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
        """The session's own state at its creation, which no event tells; a service that keeps none has {}."""
        return {}

    def one_writer(
        self, *, app_name: str, user_id: str, session_id: str
    ) -> AbstractAsyncContextManager[None]:
        """What a Runner holds while it writes to a session: whoever comes second waits, in the order of arrival.

        By default nobody waits: for services that keep writers apart by other means, such as leases.
        """
        return nullcontext()

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit an event and bring `session` up to date with it; a partial event is passed through.

        All of the event is stored or nothing; when storing fails, `session.events` is left as it was. The
        event's delta loses its `temp:` keys, which stay readable in `session.state` (spec S3, S7, S8).

        Raises:
            StateValueError: a value of the delta is no JSON.
            SessionNotFoundError: the session is gone.
        """
        if event.partial:
            return event
        delta = event.actions.state_delta
        if delta:
            event.actions.state_delta = as_json(without_temp(delta))
        await self._store(session, event)
        session.state.update(delta)
        session.state.update(copy.deepcopy(event.actions.state_delta))
        session.events.append(event)
        session.last_update_time = update_time(event)
        return event

    async def _store(self, session: Session, event: Event) -> None:  # noqa: B027 - whoever overrides append_event has none
        """Write the event and its delta, atomically. `append_event` has checked both."""
