"""Wait for an event of asyncio with a limit on the time."""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def wait_until_set(event: asyncio.Event, seconds: float) -> bool:
    """Wait up to `seconds` for the event; return True if it was set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
