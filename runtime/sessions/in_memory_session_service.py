"""Session storage in process memory: the reference implementation.

Everything that goes in or out is copied, so a caller cannot change stored data by changing an object. The only
exception are the events of `GetSessionConfig.without_superseded`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from runtime import _platform
from runtime._pydantic_models import deep_copy
from runtime.errors import AlreadyExistsError, SessionNotFoundError
from runtime.events.event import Event
from runtime.events.summaries import without_superseded
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from runtime.sessions.session import Session, update_time
from runtime.sessions.state import (
    ScopedState,
    State,  # noqa: F401  # programs import it from here
    as_json,
    without_temp,
)

logger = logging.getLogger(__name__)

WRITER_WARNING_SECONDS = 5.0
"""Seconds for which a writer waits before a warning names the invocation that blocks it."""


@dataclass
class _StoredSession:
    """Session without app and user state, which are shared between sessions."""

    state: dict[str, Any]
    initial_state: dict[str, Any]
    last_update_time: float
    events: list[Event] = field(default_factory=list)


_Key = tuple[str, str, str]


class InMemorySessionService(BaseSessionService):
    """Keep sessions in dicts, until the process ends."""

    def __init__(self) -> None:
        self._sessions: dict[_Key, _StoredSession] = {}
        self._app_state: dict[str, dict[str, Any]] = {}
        self._user_state: dict[tuple[str, str], dict[str, Any]] = {}
        # Weak: a lock is kept only while a writer holds or awaits it. By loop, because a lock belongs to one event
        # loop.
        self._writers: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, _Key], asyncio.Lock] = (
            WeakValueDictionary()
        )

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        key = (app_name, user_id, (session_id or "").strip() or _platform.new_id())
        if key in self._sessions:
            raise AlreadyExistsError(f"Session {key[2]!r} already exists. Use get_session, or another id.")
        scoped = ScopedState.split(as_json(without_temp(state or {})))
        self._sessions[key] = _StoredSession(
            state=scoped.session,
            initial_state=deep_copy(scoped.session),
            last_update_time=_platform.now(),
        )
        self._merge_shared(app_name, user_id, scoped)
        return self._load(key)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        key = (app_name, user_id, session_id)
        if key not in self._sessions:
            return None
        session = self._load(key)
        config = config or GetSessionConfig()
        selected = _select_events(self._sessions[key].events, config)
        # For a new invocation the events are shared: copying a long history would take longer than the invocation.
        session.events = selected
        if not config.without_superseded:
            session.events = deep_copy(selected)
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        keys = [key for key in self._sessions if key[0] == app_name and user_id in (None, key[1])]
        return ListSessionsResponse(sessions=[self._load(key) for key in keys])

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        self._sessions.pop((app_name, user_id, session_id), None)

    async def initial_state(self, *, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
        stored = self._sessions.get((app_name, user_id, session_id))
        if stored is None:
            return {}
        return deep_copy(stored.initial_state)

    @asynccontextmanager
    async def exclusive_writer(
        self, *, app_name: str, user_id: str, session_id: str
    ) -> AsyncGenerator[None, None]:
        key = (app_name, user_id, session_id)
        loop = asyncio.get_running_loop()
        lock = self._writers.setdefault((loop, key), asyncio.Lock())
        warning = None
        if lock.locked():
            # The usual cause is a generator that was never closed: without a warning, the program would hang silently.
            warning = loop.call_later(WRITER_WARNING_SECONDS, self._warn_of_writer, key)
        try:
            await lock.acquire()
        finally:
            if warning:
                warning.cancel()
        try:
            yield
        finally:
            lock.release()

    def _warn_of_writer(self, key: _Key) -> None:
        stored = self._sessions.get(key)
        latest = "another invocation"
        if stored and stored.events:
            latest = stored.events[-1].invocation_id
        logger.warning(
            "An invocation has waited %s s for session %r: %s has not ended. If the loop over its run_async was left "
            "early, for example by break, read run_async inside contextlib.aclosing, which closes it.",
            WRITER_WARNING_SECONDS,
            key[-1],
            latest,
        )

    async def _store(self, session: Session, event: Event) -> None:
        stored = self._sessions.get((session.app_name, session.user_id, session.id))
        if stored is None:
            raise SessionNotFoundError(f"Session {session.id!r} was deleted before this event was stored.")
        stored.events.append(deep_copy(event))
        stored.last_update_time = update_time(event)
        if event.actions.state_delta:
            scoped = ScopedState.split(deep_copy(event.actions.state_delta))
            stored.state.update(scoped.session)
            self._merge_shared(session.app_name, session.user_id, scoped)
        session.last_seq = len(stored.events)

    def _merge_shared(self, app_name: str, user_id: str, scoped: ScopedState) -> None:
        self._app_state.setdefault(app_name, {}).update(scoped.app)
        self._user_state.setdefault((app_name, user_id), {}).update(scoped.user)

    def _load(self, key: _Key) -> Session:
        """Return the session with its merged state, without events."""
        app_name, user_id, session_id = key
        stored = self._sessions[key]
        scoped = ScopedState(
            app=self._app_state.get(app_name, {}),
            user=self._user_state.get((app_name, user_id), {}),
            session=stored.state,
        )
        return Session(
            id=session_id,
            app_name=app_name,
            user_id=user_id,
            state=deep_copy(scoped.merged()),
            last_update_time=stored.last_update_time,
            last_seq=len(stored.events),
        )


def _select_events(events: list[Event], config: GetSessionConfig) -> list[Event]:
    if config.without_superseded:
        return without_superseded(events)
    if config.after_timestamp is not None:
        events = [event for event in events if event.timestamp >= config.after_timestamp]
    if config.num_recent_events is not None:
        begin = max(0, len(events) - config.num_recent_events)
        events = events[begin:]
    return events
