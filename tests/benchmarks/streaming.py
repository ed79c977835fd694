"""Concurrent streaming from one web process: duration of an answer, age of a word, CPU per word.

Baseline: a bare Daphne consumer that sends each word in its own message. Also: memory of an idle websocket.
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
"""Maximal seconds that a person reads an answer before the next message."""
IDLE = 1_000


@dataclass
class Measurements:
    """Measurements of all people.

    Attributes:
        turns: Seconds from a message to the end of its answer.
        ages: Seconds from the model's yield of a word to its arrival.
        words: Number of words that the model yielded.
    """

    turns: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)
    words: int = 0


SendMessage = Callable[[ClientConnection], Awaitable[None]]


async def measure() -> list[str]:
    """Return the baseline, the site's figures and their ratio, and the memory of idle websockets."""
    bare_doors = [Door("/", "")] * PEOPLE
    bare = await _stream("tests.benchmarks.bare:application", bare_doors, _send_empty)
    doors = await in_thread(make_doors, PEOPLE, "paced")
    site = await _stream("adk_site.asgi:application", doors, _send_message)
    hasty = await _stream("adk_site.asgi:application", doors, _send_message, pause=0.1)
    idle = await _idle_kilobytes(doors)
    return [
        f"{PEOPLE} people, {CHUNKS} words each at 20 ms, one process:",
        f"  bare Daphne consumer: {bare}",
        f"  this site:            {site}",
        f"  with pauses of 0.1 s: {hasty}",
        f"  words per CPU second: {site.rate:.0f}, {site.rate / bare.rate:.0%} of the bare consumer's {bare.rate:.0f}",
        f"idle sockets: {idle:.1f} KB each ({IDLE} of them)",
    ]


@dataclass(frozen=True)
class Result:
    """Measurements of one run, and the server's CPU seconds."""

    measurements: Measurements
    cpu: float

    @property
    def rate(self) -> float:
        """Words per second of the server's CPU time."""
        return self.measurements.words / self.cpu

    def __str__(self) -> str:
        turns, ages = sorted(self.measurements.turns), sorted(self.measurements.ages)
        return (
            f"{len(turns)} turns, median {statistics.median(turns):.2f} s, "
            f"95 % within {percentile(turns, 0.95):.2f} s; "
            f"words {1000 * statistics.median(ages):.0f} ms old, 95 % under {1000 * percentile(ages, 0.95):.0f} ms, "
            f"all under {1000 * ages[-1]:.0f} ms; "
            f"{1e6 * self.cpu / self.measurements.words:.0f} µs of CPU per word"
        )


async def _stream(application: str, doors: list[Door], send: SendMessage, *, pause: float = PAUSE) -> Result:
    with daphne(application, "tests.benchmarks.settings") as (port, process):
        measurements = Measurements()
        sockets = [await enter(port, door) for door in doors]
        await _talk(sockets[0], send, Measurements(), 1, 0)  # fills the caches of the process
        before = cpu_seconds(process)
        await asyncio.gather(*(_talk(socket, send, measurements, TURNS, pause) for socket in sockets))
        cpu = cpu_seconds(process) - before
        for socket in sockets:
            await socket.close()
        return Result(measurements, cpu)


async def _talk(
    socket: ClientConnection, send: SendMessage, measurements: Measurements, turns: int, pause: float
) -> None:
    await asyncio.sleep((1 + pause) * random.random() if turns > 1 else 0)
    for _ in range(turns):
        started = time.time()
        await send(socket)
        await _read_answer(socket, measurements)
        measurements.turns.append(time.time() - started)
        await asyncio.sleep(pause * random.random())


async def _read_answer(socket: ClientConnection, measurements: Measurements) -> None:
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == "partial":
            words = frame["text"].split()
            now = time.time()
            measurements.ages += [now - float(word) for word in words]
        elif frame["type"] == "invocation" and frame["status"] == "completed":
            measurements.words += CHUNKS
            return


async def _send_empty(socket: ClientConnection) -> None:
    await socket.send("{}")


async def _send_message(socket: ClientConnection) -> None:
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


def percentile(ordered: list[float], share: float) -> float:
    """Return the value at this share (0 to 1) of the sorted values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
