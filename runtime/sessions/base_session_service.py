"""The contract of session storage (contract S2, S3).

`append_event` is the only way to change a session after its creation. It validates the event's delta, lets `_store`
write event and delta atomically, and only then changes the caller's `Session`: an object in memory is never ahead of
the storage. State is stored in three scopes (app, user, session) and merged when a session is loaded.
"""

import abc
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from runtime._pydantic_models import deep_copy
from runtime.events.event import Event
from runtime.sessions.session import Session, update_time
from runtime.sessions.state import (
    State,  # noqa: F401  # programs import it from here
    as_json,
    without_temp,
)


class GetSessionConfig(BaseModel):
    """Selection of the events to load; by default all.

    num_recent_events: load only this number of the latest events.
    after_timestamp: load only events with this timestamp or a later timestamp (contract Q15).
    without_superseded: load only the events that a new invocation needs: leave out rewound events, and the events
        replaced by a summary, except the last of them (contract R3, R4). Excludes the other selections. Do not
        change these events: other invocations may share them.
    """

    model_config = ConfigDict(extra="forbid")

    num_recent_events: int | None = None
    after_timestamp: float | None = None
    without_superseded: bool = False


class ListSessionsResponse(BaseModel):
    """A list of sessions without their events."""

    sessions: list[Session] = Field(default_factory=list)


class BaseSessionService(abc.ABC):
    """Store sessions and commit events."""

    @abc.abstractmethod
    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session. Each key of `state` is stored in the scope of its prefix; `temp:` keys are not stored.

        Raises:
            AlreadyExistsError: a session with this id exists.
            StateValueError: a value to be stored is not JSON.
        """

    @abc.abstractmethod
    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a copy of the session with its merged state, or None if there is no such session."""

    @abc.abstractmethod
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events."""

    @abc.abstractmethod
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete the session and its events; do nothing if the session does not exist."""

    async def initial_state(self, *, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
        """Return the session-scoped state at creation, which no event records; `{}` if the service does not keep it."""
        return {}

    def exclusive_writer(
        self, *, app_name: str, user_id: str, session_id: str
    ) -> AbstractAsyncContextManager[None]:
        """Return a context manager that a Runner holds while it writes to the session; other writers wait in order.

        The default does not wait: such services separate writers by other means, for example leases.
        """
        return nullcontext()

    async def append_event(self, session: Session, event: Event) -> Event:
        """Commit an event and update `session` with it. A partial event is returned unchanged.

        The commit is atomic: if it fails, `session.events` is not changed. `temp:` keys are removed from the event's
        delta but stay readable in `session.state` (contract S3, S7, S8).

        Raises:
            StateValueError: a value of the delta is not JSON.
            SessionNotFoundError: the session was deleted.
        """
        if event.partial:
            return event
        delta = event.actions.state_delta
        if delta:
            # Before the commit: nothing is written if a value is not JSON.
            event.actions.state_delta = as_json(without_temp(delta))
        await self._store(session, event)
        if delta:
            # First the given delta, for its `temp:` keys, then the stored values: running code sees what a later load
            # returns.
            session.state.update(delta)
            session.state.update(deep_copy(event.actions.state_delta))
        session.events.append(event)
        session.last_update_time = update_time(event)
        return event

    async def _store(self, session: Session, event: Event) -> None:  # noqa: B027  # unused if append_event is overridden
        """Write the event and its delta atomically. `append_event` has validated the delta."""
