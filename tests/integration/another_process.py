"""A second process of the site, in the event loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sessions_app.invocations.worker import InvocationWorker
from sessions_app.live.hub import Hub
from sessions_app.live.list_news import ListNews
from sessions_app.live.process import Live
from sessions_app.live.relay import Relay
from sessions_app.live.sign_ins import SignIns


@asynccontextmanager
async def another_process() -> AsyncIterator[InvocationWorker]:
    """A worker with a hub and a relay of its own, which this process reaches through Redis only."""
    relay = Relay()
    hub = Hub(relay)
    listening = asyncio.create_task(relay.listen(hub))
    while not relay._channel:
        await asyncio.sleep(0.01)
    await relay.join()
    other = InvocationWorker(Live(hub, relay, ListNews(relay), SignIns(), (listening,)))
    try:
        yield other
    finally:
        await other.close()
        await relay.stop()
        await listening
