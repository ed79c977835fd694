"""Hub, relay and sign-ins of this process, and the slow tick, which compares them with PostgreSQL."""

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from sessions_app.conf import conf
from sessions_app.live.hub import Hub
from sessions_app.live.list_news import ListNews
from sessions_app.live.relay import Relay
from sessions_app.live.sign_ins import SignIns
from sessions_app.process.threads import LoopLocal, wait_until_set
from sessions_app.store.sql.event_log import session_statuses

logger = logging.getLogger(__name__)
RECANCEL_SECONDS = 0.1
"""Pause before a task that has not ended is cancelled again."""


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


@dataclass(frozen=True)
class Live:
    """Live view of an event loop: its hub, relay, news of lists and sign-ins, and their tasks."""

    hub: Hub
    relay: Relay
    list_news: ListNews
    sign_ins: SignIns
    tasks: tuple[asyncio.Task[None], ...]


def _start() -> Live:
    relay = Relay()
    hub = Hub(relay)
    list_news = ListNews(relay)
    sign_ins = SignIns()
    checks = StatusChecks(hub)
    tasks = (
        asyncio.create_task(relay.listen(hub), name="relay: listen"),
        asyncio.create_task(relay.stay_joined(), name="relay: stay joined"),
        asyncio.create_task(checks.run(), name="live: slow tick"),
        asyncio.create_task(_check_sign_ins(sign_ins), name="live: check sign-ins"),
    )
    relay.on_sign_out = sign_ins.end_session
    relay.on_account_change = sign_ins.request_check
    hub.on_notice = list_news.on_notice
    relay.on_list_change = list_news.receive
    relay.on_followed = checks.request
    return Live(hub, relay, list_news, sign_ins, tasks)


_lives = LoopLocal(_start)


def live() -> Live:
    """Return the live view of the running loop. The first call on a loop starts it."""
    return _lives.get()


async def close_live() -> None:
    """Send the unsent news, then stop the live view of the running loop, if any."""
    closing = _lives.pop()
    if closing is None:
        return
    # The listening task is not cancelled, because a wait for Redis cannot be: `relay.stop` ends it with a message.
    listening, *others = closing.tasks
    await _cancel(others)
    await closing.list_news.stop()
    try:
        async with asyncio.timeout(conf().heartbeat_seconds):
            await closing.relay.stop()
            await asyncio.wait([listening])
    except Exception:  # Redis may be away. News is a hint, so the last news can be lost.
        logger.warning("The channel layer did not answer at shutdown", exc_info=True)
        running = [listening, closing.relay.sending]
        await _cancel([task for task in running if task])


async def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel the tasks and wait for their end."""
    # A single cancellation may be lost: the Redis client calls `asyncio.wait_for`, which before Python 3.12 swallows a
    # cancellation at the moment when the awaited call ends.
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=RECANCEL_SECONDS)


async def _check_sign_ins(sign_ins: SignIns) -> None:
    """Check the sign-ins on request and on every heartbeat."""
    # The heartbeat finds changes whose message was lost, and accounts changed with SQL.
    while True:
        await sign_ins.check_requested(conf().heartbeat_seconds)
        try:
            await sign_ins.check_all()
        except Exception:  # PostgreSQL may be away for a moment.
            logger.warning("Sign-ins could not be checked; the next tick tries again", exc_info=True)
