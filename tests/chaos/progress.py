"""Bound of a run: a run on a busy machine may take long, but ends when nothing has happened for some time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

logger = logging.getLogger(__name__)
LOOK_SECONDS = 0.5
"""Seconds between two looks at the progress."""


@asynccontextmanager
async def while_progress(measure: Callable[[], Awaitable[object]], *, patience: float) -> AsyncIterator[None]:
    """Cancel the block when `measure` has returned the same value for `patience` seconds.

    A measure that raises an error shows no progress: PostgreSQL may be away.

    Raises:
        TimeoutError: the block was cancelled.
    """
    async with asyncio.timeout(patience) as limit:
        renewals = asyncio.create_task(_renew(limit, measure, patience), name="progress of the run")
        try:
            yield
        finally:
            renewals.cancel()
            await asyncio.wait([renewals])


async def _renew(limit: asyncio.Timeout, measure: Callable[[], Awaitable[object]], patience: float) -> None:
    last: object = None
    while True:
        try:
            value = await measure()
        except Exception as error:  # noqa: BLE001 - any error of a database that is away
            logger.warning("The progress is not known: %r", error)
            value = last
        if value != last:
            last = value
            limit.reschedule(asyncio.get_running_loop().time() + patience)
        await asyncio.sleep(LOOK_SECONDS)
