"""Hub and relay of this process, and the slow tick that compares watched sessions with PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sessions_app.conf import conf
from sessions_app.db.event_log import session_statuses
from sessions_app.live.hub import Hub
from sessions_app.live.relay import Relay

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Live:
    """Hub and relay of an event loop, with the tasks that keep them going."""

    hub: Hub
    relay: Relay
    tasks: tuple[asyncio.Task[None], ...]


_lives: WeakKeyDictionary[asyncio.AbstractEventLoop, Live] = WeakKeyDictionary()


def live() -> Live:
    """Return the running loop's hub and relay; the first call starts them."""
    loop = asyncio.get_running_loop()
    known = _lives.get(loop)
    if known is None:
        relay = Relay()
        hub = Hub(relay)
        tasks = (
            loop.create_task(relay.listen(hub), name="relay: listen"),
            loop.create_task(relay.stay_joined(), name="relay: stay joined"),
            loop.create_task(_compare_with_database(hub), name="live: slow tick"),
        )
        known = _lives[loop] = Live(hub, relay, tasks)
    return known


async def close_live() -> None:
    """Stop the running loop's hub and relay after the unsent news are sent."""
    known = _lives.pop(asyncio.get_running_loop(), None)
    if known is None:
        return
    listening, *ticking = known.tasks
    for task in ticking:
        task.cancel()
    try:
        async with asyncio.timeout(conf().heartbeat_seconds):
            await known.relay.stop()
            await listening
    except Exception:  # Redis may be away. News are hints, so losing the last ones is safe.
        logger.warning("The channel layer did not answer at shutdown", exc_info=True)
        listening.cancel()
    await asyncio.gather(*known.tasks, return_exceptions=True)


async def _compare_with_database(hub: Hub) -> None:
    """Give the hub the statuses of the watched sessions on every heartbeat, in case messages were lost."""
    while True:
        await asyncio.sleep(conf().heartbeat_seconds)
        streaming = {session_id: hub.streaming_invocations(session_id) for session_id in hub.watched()}
        try:
            statuses = await session_statuses(list(streaming)) if streaming else {}
        except Exception:  # PostgreSQL may be away for a moment.
            logger.warning("Watched sessions could not be checked; the next tick tries again", exc_info=True)
            continue
        for session_id, invocation_ids in streaming.items():
            if session_id not in statuses:
                hub.receive_deletion(session_id)
                continue
            for invocation_id in invocation_ids - statuses[session_id].open:
                hub.drop_text(session_id, invocation_id)
            hub.receive_status(session_id, statuses[session_id])
