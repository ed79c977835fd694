"""Long lists of events in slices, between which other tasks of the event loop run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from runtime.events.calls import made_calls
from runtime.events.event import Event

SLICE_EVENTS = 200
"""Events of a slice: converting them to contents takes a few milliseconds."""

T = TypeVar("T")


async def in_slices(items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """Yield consecutive slices; a short list is one slice, before which no other task runs."""
    for start in range(0, len(items), SLICE_EVENTS):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + SLICE_EVENTS]


async def in_separable_slices(events: Sequence[Event]) -> AsyncIterator[Sequence[Event]]:
    """Yield consecutive slices of which none answers a call of an earlier one."""
    positions = {id(event): index for index, event in enumerate(events)}
    answered_at: dict[int, int] = {}  # the latest answer, as each call of an event may have its own
    for made in made_calls(events):
        for answer in made.answers:
            earlier = answered_at.get(id(made.event), -1)
            answered_at[id(made.event)] = max(earlier, positions[id(answer.event)])
    start, last_answer = 0, -1
    for index, event in enumerate(events):
        if index - start >= SLICE_EVENTS and index > last_answer:
            yield events[start:index]
            await asyncio.sleep(0)
            start = index
        last_answer = max(last_answer, answered_at.get(id(event), -1))
    if start < len(events):
        yield events[start:]
