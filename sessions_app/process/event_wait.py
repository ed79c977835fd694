"""Wait for an asyncio event with a timeout."""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def wait_until_set(event: asyncio.Event, seconds: float) -> bool:
    """Wait up to `seconds` for the event; return True if it was set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
