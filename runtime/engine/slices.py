"""Long lists in slices, between which other tasks of the event loop run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

SLICE_EVENTS = 200
"""Events of a slice: converting them to contents takes a few milliseconds."""

T = TypeVar("T")


async def in_slices(items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """Yield consecutive slices; a short list is one slice, before which no other task runs."""
    for start in range(0, len(items), SLICE_EVENTS):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + SLICE_EVENTS]
