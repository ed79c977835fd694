"""Turns of many people in one web process, by websockets, beside a bare Daphne consumer that sends each piece.

Also: the turns of as many people in two web processes, and the memory of an idle websocket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from sessions_app.process.threads import in_thread
from tests.benchmarks.crowd import crowd
from tests.benchmarks.daphne import daphne, memory
from tests.benchmarks.doors import Door, enter, make_doors
from tests.benchmarks.work import Measurements, Work

WORKS = (
    *(Work(people, has_call=has_call) for people in (1, 50, 200) for has_call in (True, False)),
    *(Work(people, pause=2.0) for people in (1, 50, 200)),
    *(Work(people, has_call=False, is_markdown=True) for people in (1, 50, 200)),
    Work(20, turns=20, seconds_between=0.0),
)
WORKS_OF_TWO_PROCESSES = (Work(200), Work(200, has_call=False))
WARM, IDLE = 50, 1_000


async def measure() -> list[str]:
    """Return two lines for each work, the baseline's and the site's with their ratio, then the other figures."""
    most = max(work.people for work in WORKS)
    bare = await stream_answers("tests.benchmarks.bare_consumer:application", [Door("/", "")] * most, WORKS)
    doors = await in_thread(make_doors, most, "paced")
    site = await stream_answers("adk_site.asgi:application", doors, WORKS)
    lines = []
    for work, ours, theirs in zip(WORKS, site, bare, strict=True):
        ratio = ours.web / theirs.web
        lines += [f"{work}:", f"  bare consumer: {theirs}", f"  site, {ratio:.1f} times: {ours}"]
    for work in WORKS_OF_TWO_PROCESSES:
        lines += [f"{work}, two web processes:", f"  site: {await _in_two_processes(doors, work)}"]
    return [*lines, f"idle sockets: {await _idle_kilobytes():.1f} KB each ({IDLE} of them)"]


async def stream_answers(application: str, doors: list[Door], works: Sequence[Work]) -> list[Measurements]:
    """Start a web process and measure each work there, one after the other, with a person at each door."""
    with daphne(application, "tests.benchmarks.settings") as (port, process):
        async with crowd(port, process, doors) as people:
            return [await people.do(work) for work in works]


async def _in_two_processes(doors: list[Door], work: Work) -> Measurements:
    """Measure the work with half of the people at each of two web processes."""
    half = replace(work, people=work.people // 2)
    application, settings = "adk_site.asgi:application", "tests.benchmarks.settings"
    with daphne(application, settings) as one, daphne(application, settings) as two:
        async with (
            crowd(*one, doors[: half.people]) as people,
            crowd(*two, doors[half.people : work.people]) as others,
        ):
            seen, also_seen = await asyncio.gather(people.do(half), others.do(half))
    # PostgreSQL serves both processes, so each of the two figures is of all turns.
    return replace(seen + also_seen, postgres=max(seen.postgres, also_seen.postgres))


async def _idle_kilobytes() -> float:
    """Return the memory that a socket takes when each has a person and a session of its own.

    The sessions have no events: those that a `hello` asks for are rendered, and their HTML stays in a cache.
    """
    doors = await in_thread(_doors_of_people, WARM + IDLE)
    with daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, process):
        warm = [await enter(port, door) for door in doors[:WARM]]
        before = memory(process)
        idle = [await enter(port, door) for door in doors[WARM:]]
        kilobytes = (memory(process) - before) / IDLE / 1024
        for socket in [*warm, *idle]:
            await socket.close()
        return kilobytes


def _doors_of_people(count: int) -> list[Door]:
    """Create people with one session each; return the doors to their sessions."""
    return [door for _ in range(count) for door in make_doors(1, "paced")]
