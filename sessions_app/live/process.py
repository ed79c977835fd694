"""This process's hub and relay, and their slow tick."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakKeyDictionary

from sessions_app.conf import conf
from sessions_app.db import threads
from sessions_app.db.event_log import session_statuses
from sessions_app.live.frames import Notice
from sessions_app.live.hub import Hub
from sessions_app.live.relay import Relay

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Live:
    """What a process has for watching and being watched."""

    hub: Hub
    relay: Relay
    tasks: tuple[asyncio.Task[None], ...]


_lives: WeakKeyDictionary[asyncio.AbstractEventLoop, Live] = WeakKeyDictionary()


def live() -> Live:
    """The running loop's hub and relay, started at first use."""
    loop = asyncio.get_running_loop()
    known = _lives.get(loop)
    if known is None:
        relay = Relay()
        hub = Hub(relay)
        tasks = (
            loop.create_task(relay.listen(hub), name="relay: listen"),
            loop.create_task(relay.stay_joined(), name="relay: stay joined"),
            loop.create_task(_look_for_news(hub), name="live: slow tick"),
        )
        known = _lives[loop] = Live(hub, relay, tasks)
    return known


def tell(session_id: UUID, notice: Notice) -> None:
    """Tell those who watch the session, from a thread that has no loop."""

    async def publish() -> None:
        live().hub.publish_notice(session_id, notice)

    threads.run(publish())


async def close_live() -> None:
    """Stop the running loop's listeners, after what was posted has left."""
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
    except Exception:  # the channel layer is away, and nothing is left to say to it
        logger.warning("The channel layer did not answer at the end", exc_info=True)
        listening.cancel()
    await asyncio.gather(*known.tasks, return_exceptions=True)


async def _look_for_news(hub: Hub) -> None:
    """Ask PostgreSQL where the watched sessions stand: what a lost message would have told."""
    while True:
        await asyncio.sleep(conf().heartbeat_seconds)
        watched = {session_id: hub.speaking(session_id) for session_id in hub.watched()}
        try:
            known = await session_statuses(list(watched)) if watched else {}
        except Exception:  # PostgreSQL may be away for a moment
            logger.warning("Looking for news failed; the next tick tries again", exc_info=True)
            continue
        for session_id, spoke in watched.items():
            if session_id not in known:
                hub.gone(session_id)
                continue
            for ended in spoke - known[session_id].open:
                hub.forget_text(session_id, ended)
            hub.session_status(session_id, known[session_id])
