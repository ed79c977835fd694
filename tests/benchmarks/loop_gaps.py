"""The site's ASGI application, which also reports the largest gap of its event loop: `GET /gap`.

A gap is the CPU time of the loop's thread between two ticks of a millisecond: other load on the machine does not
lengthen it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx2

from adk_site.asgi import application as site

TICK_SECONDS = 0.001


class LargestGap:
    """Measures the longest time between two ticks of the event loop, in milliseconds."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._milliseconds = 0.0

    def take(self) -> float:
        """Return the largest gap since the last call; the first one begins to measure."""
        self._task = self._task or asyncio.create_task(self._tick())
        milliseconds, self._milliseconds = self._milliseconds, 0.0
        return milliseconds

    async def _tick(self) -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            self._milliseconds = max(self._milliseconds, 1000 * (time.thread_time() - began))


_gap = LargestGap()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve the site, and its event loop's largest gap since the last question."""
    if scope["type"] != "http" or scope["path"] != "/gap":
        await site(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": f"{_gap.take():.3f}".encode()})


async def largest_gap(port: int) -> float:
    """Return the largest gap, in milliseconds, in the process on this port since the last call."""
    async with httpx2.AsyncClient() as client:
        return float((await client.get(f"http://127.0.0.1:{port}/gap")).text)
