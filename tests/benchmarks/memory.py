"""The memory of one web process while it serves as many turns as an hour of conversations has.

People begin sessions and go back to old ones, and come over a new socket every few turns. The cache of histories is
kept small, so that it is full after the warm-up.
"""

from __future__ import annotations

import asyncio
import json
from itertools import count

import psutil

from sessions_app.db.threads import in_thread
from tests.benchmarks.daphne import daphne, memory
from tests.benchmarks.doors import Door, enter, make_doors

TURNS = 3_600
PEOPLE = 20
SESSIONS = 360
TURNS_OF_A_SOCKET = 5
WARM_UP = 0.4
"""The share of the turns after which nothing may grow any more."""


async def measure() -> list[str]:
    """What was in use after each tenth, and the growth after the warm-up."""
    doors = await in_thread(make_doors, SESSIONS, "quick")
    with daphne("adk_site.asgi:application", "tests.benchmarks.quick.settings") as (port, process):
        megabytes = await _serve(port, process, doors)
    warm = int(len(megabytes) * WARM_UP)
    growth = (megabytes[-1] - megabytes[warm - 1]) / (TURNS * (1 - WARM_UP)) * 1_000
    steps = ", ".join(f"{one:.1f}" for one in megabytes)
    return [
        f"memory of a web process in {TURNS} turns of {SESSIONS} sessions, MB after each tenth: {steps}",
        f"  growth after the warm-up: {growth:.2f} MB per 1,000 turns",
    ]


async def _serve(port: int, process: psutil.Process, doors: list[Door]) -> list[float]:
    """The megabytes after each tenth of the turns."""
    numbers = count()
    megabytes = []
    for _ in range(10):
        await asyncio.gather(
            *(_talk(port, doors, numbers, TURNS // 10 // PEOPLE) for _ in range(PEOPLE)),
        )
        megabytes.append(memory(process) / 1e6)
    return megabytes


async def _talk(port: int, doors: list[Door], numbers: count[int], turns: int) -> None:
    """Some turns, in a few sessions; each socket is a new one in another session."""
    while turns > 0:
        door = doors[next(numbers) % len(doors)]
        socket = await enter(port, door)
        for _ in range(min(turns, TURNS_OF_A_SOCKET)):
            message = {"v": 1, "type": "message", "id": f"m{next(numbers)}", "text": "go"}
            await socket.send(json.dumps(message))
            while json.loads(await socket.recv()).get("status") != "completed":
                pass
        turns -= TURNS_OF_A_SOCKET
        await socket.close()
