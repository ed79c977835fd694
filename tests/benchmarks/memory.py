"""Memory growth of one web process over as many invocations as an hour of conversations has.

People alternate between sessions and reconnect every few messages. The history cache is small, so that it is full
after the warm-up, and any later growth is a leak.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count

import psutil

from sessions_app.process.threads import in_thread
from tests.benchmarks.daphne import daphne, memory
from tests.benchmarks.doors import Door, enter, make_doors

TURNS = 3_600
PEOPLE = 20
SESSIONS = 360
TURNS_PER_SOCKET = 5
WARM_UP = 0.4
"""Share of the turns after which the memory must not grow."""


async def measure() -> list[str]:
    """Return the memory after each tenth of the turns, and the growth after the warm-up."""
    doors = await in_thread(make_doors, SESSIONS, "quick")
    with daphne("adk_site.asgi:application", "tests.benchmarks.quick.settings") as (port, process):
        megabytes = await _serve(port, process, doors)
    warm = int(len(megabytes) * WARM_UP)
    growth = (megabytes[-1] - megabytes[warm - 1]) / (TURNS * (1 - WARM_UP)) * 1_000
    steps = ", ".join(f"{value:.1f}" for value in megabytes)
    return [
        f"memory of a web process in {TURNS} turns of {SESSIONS} sessions, MB after each tenth: {steps}",
        f"  growth after the warm-up: {growth:.2f} MB per 1,000 turns",
    ]


async def _serve(port: int, process: psutil.Process, doors: list[Door]) -> list[float]:
    """Run all turns; return the process's megabytes after each tenth of them."""
    numbers = count()
    megabytes = []
    for _ in range(10):
        await asyncio.gather(
            *(_talk(port, doors, numbers, TURNS // 10 // PEOPLE) for _ in range(PEOPLE)),
        )
        megabytes.append(memory(process) / 1e6)
    return megabytes


async def _talk(port: int, doors: list[Door], numbers: count[int], turns: int) -> None:
    """Send messages and wait for their answers, a few over each new websocket to another session."""
    while turns > 0:
        door = doors[next(numbers) % len(doors)]
        socket = await enter(port, door)
        for _ in range(min(turns, TURNS_PER_SOCKET)):
            message = {"v": 1, "type": "message", "id": f"m{next(numbers)}", "text": "go"}
            await socket.send(json.dumps(message))
            while json.loads(await socket.recv()).get("status") != "completed":
                pass
        turns -= TURNS_PER_SOCKET
        await socket.close()
