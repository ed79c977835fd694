"""People who stream at once from one web process: how long a turn takes, how old a word is, what it costs.

The floor is a bare Daphne consumer that sends every word by itself. Also: what an idle socket costs in memory.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection

from sessions_app.db.threads import in_thread
from tests.benchmarks.daphne import cpu_seconds, daphne, memory
from tests.benchmarks.doors import Door, enter, make_doors
from tests.benchmarks.paced.agents import CHUNKS

PEOPLE = 200
TURNS = 5
PAUSE = 2.0
"""A person reads the answer before the next message: for up to so many seconds."""
IDLE = 1_000


@dataclass
class Seen:
    """What the people saw."""

    turns: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    words: int = 0


Say = Callable[[ClientConnection], Awaitable[None]]


async def measure() -> list[str]:
    """The floor, ours, and the share."""
    bare_doors = [Door("/", "")] * PEOPLE
    bare = await _stream("tests.benchmarks.bare:application", bare_doors, _say_anything)
    doors = await in_thread(make_doors, PEOPLE, "paced")
    ours = await _stream("adk_site.asgi:application", doors, _say_message)
    hasty = await _stream("adk_site.asgi:application", doors, _say_message, pause=0.1)
    idle = await _idle_kilobytes(doors)
    return [
        f"{PEOPLE} people, {CHUNKS} words each at 20 ms, one process:",
        f"  bare Daphne consumer: {bare}",
        f"  this site:            {ours}",
        f"  without any pause:    {hasty}",
        f"  chunks per CPU second: {ours.rate:.0f}, {ours.rate / bare.rate:.0%} of the bare consumer's {bare.rate:.0f}",
        f"idle sockets: {idle:.1f} KB each ({IDLE} of them)",
    ]


@dataclass(frozen=True)
class Result:
    """Figures of one run."""

    seen: Seen
    cpu: float

    @property
    def rate(self) -> float:
        """Model chunks per second of the server's CPU."""
        return self.seen.words / self.cpu

    def __str__(self) -> str:
        turns, ages = sorted(self.seen.turns), sorted(self.seen.ages)
        return (
            f"{len(turns)} turns, median {statistics.median(turns):.2f} s, 95 % within {_at(turns, 0.95):.2f} s; "
            f"words {1000 * statistics.median(ages):.0f} ms old, 95 % under {1000 * _at(ages, 0.95):.0f} ms, "
            f"all under {1000 * ages[-1]:.0f} ms; "
            f"{1e6 * self.cpu / self.seen.words:.0f} µs of CPU per chunk"
        )


async def _stream(application: str, doors: list[Door], say: Say, *, pause: float = PAUSE) -> Result:
    with daphne(application, "tests.benchmarks.settings") as (port, process):
        seen = Seen()
        sockets = [await enter(port, door) for door in doors]
        await _person(sockets[0], say, Seen(), 1, 0)  # the first turn of a process fills its caches
        before = cpu_seconds(process)
        await asyncio.gather(*(_person(socket, say, seen, TURNS, pause) for socket in sockets))
        cpu = cpu_seconds(process) - before
        for socket in sockets:
            await socket.close()
        return Result(seen, cpu)


async def _person(socket: ClientConnection, say: Say, seen: Seen, turns: int, pause: float) -> None:
    await asyncio.sleep((1 + pause) * random.random() if turns > 1 else 0)
    for _ in range(turns):
        started = time.time()
        await say(socket)
        await _read_answer(socket, seen)
        seen.turns.append(time.time() - started)
        await asyncio.sleep(pause * random.random())


async def _read_answer(socket: ClientConnection, seen: Seen) -> None:
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == "partial":
            words = frame["text"].split()
            now = time.time()
            seen.ages += [now - float(word) for word in words]
        elif frame["type"] == "invocation" and frame["status"] == "completed":
            seen.words += CHUNKS
            return


async def _say_anything(socket: ClientConnection) -> None:
    await socket.send("{}")


async def _say_message(socket: ClientConnection) -> None:
    await socket.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": "go"}))


async def _idle_kilobytes(doors: list[Door]) -> float:
    with daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, process):
        warm = [await enter(port, door) for door in doors[:50]]
        before = memory(process)
        idle = [await enter(port, doors[number % len(doors)]) for number in range(IDLE)]
        kilobytes = (memory(process) - before) / IDLE / 1024
        for socket in [*warm, *idle]:
            await socket.close()
        return kilobytes


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
