"""StatusChecks: compares the watched sessions of a process with PostgreSQL, in case news was lost."""

import asyncio
import logging
import time
from collections.abc import Iterable
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.live.hub import Hub
from sessions_app.process.loop_local import wait_until_set
from sessions_app.store.sql.event_log import session_statuses

logger = logging.getLogger(__name__)


class StatusChecks:
    """The slow tick: checks all watched and expected sessions on every heartbeat, and sessions on request."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._requested: set[UUID] = set()
        self._is_requested = asyncio.Event()

    def request(self, sessions: Iterable[UUID]) -> None:
        """Request an immediate check of sessions."""
        self._requested.update(sessions)
        self._is_requested.set()

    async def run(self) -> None:
        """Check until cancelled."""
        next_tick_at = time.monotonic() + conf().heartbeat_seconds
        while True:
            await wait_until_set(self._is_requested, next_tick_at - time.monotonic())
            self._is_requested.clear()
            requested = self._requested
            self._requested = set()
            if time.monotonic() >= next_tick_at:
                next_tick_at = time.monotonic() + conf().heartbeat_seconds
                await self._check({*self._hub.watched(), *self._hub.expected()})
            else:
                await self._check(requested & {*self._hub.watched(), *self._hub.expected()})

    async def _check(self, sessions: set[UUID]) -> None:
        """Pass the statuses of the sessions, and deletions, to the hub."""
        hub = self._hub
        # Before the query: the status lacks invocations that begin during the query, and their text must stay.
        streaming = {session_id: hub.streaming_invocations(session_id) for session_id in sessions}
        expected = set(hub.expected())  # A session that is created during the query was not deleted.
        try:
            statuses = await session_statuses(list(streaming)) if streaming else {}
        except Exception:  # PostgreSQL may be away for a moment.
            logger.warning("Watched sessions could not be checked; the next tick tries again", exc_info=True)
            return
        for session_id, invocation_ids in streaming.items():
            if session_id not in statuses:
                if session_id not in expected:
                    hub.receive_deletion(session_id)
                continue
            hub.drop_ended_text(session_id, invocation_ids, statuses[session_id])
            hub.receive_status(session_id, statuses[session_id])
