"""People who talk by websockets, in a process of their own, so that they do not wait for what measures them.

`python -m tests.benchmarks.crowd PORT` reads a JSON line with doors and one for each work, and writes its measurements.
`tests.benchmarks.programs` does the same for programs that use HTTP.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

import psutil
import uvloop
from websockets.asyncio.client import ClientConnection

from tests.benchmarks.daphne import cpu_seconds
from tests.benchmarks.doors import Door, enter
from tests.benchmarks.programs import Address
from tests.benchmarks.servers import postgres_cpu_seconds
from tests.benchmarks.work import Measurements, Work, times_in


class WorkFailedError(Exception):
    """The server has broken off an answer, or the people have left."""


class Crowd:
    """People with one websocket each, or programs with one session each, at a web process."""

    def __init__(self, process: asyncio.subprocess.Process, server: psutil.Process) -> None:
        self._process = process
        self._server = server

    async def do(self, work: Work) -> Measurements:
        """Let the first of the people work; return what they saw, with the server's CPU time.

        Raises:
            WorkFailedError: they could not end their work.
        """
        web, postgres = cpu_seconds(self._server), postgres_cpu_seconds()
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(asdict(work)).encode() + b"\n")
        told = json.loads(await self._process.stdout.readline() or '{"error": "the people have left"}')
        if "error" in told:
            raise WorkFailedError(told["error"])
        seen = Measurements(**told)
        spent = cpu_seconds(self._server) - web, postgres_cpu_seconds() - postgres
        return replace(seen, web=spent[0], postgres=spent[1])


@asynccontextmanager
async def crowd(
    port: int,
    server: psutil.Process,
    doors: Sequence[Door] | Sequence[Address],
    module: str = "tests.benchmarks.crowd",
) -> AsyncIterator[Crowd]:
    """Yield people who stand at the doors. One turn of each has filled the caches of the server.

    Args:
        module: runs the people, by default those with websockets.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        str(port),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**30,
    )
    try:
        assert process.stdin
        process.stdin.write(json.dumps([asdict(door) for door in doors]).encode() + b"\n")
        people = Crowd(process, server)
        await people.do(Work(people=len(doors), turns=1))
        yield people
    finally:
        with suppress(ProcessLookupError):  # It ends by itself after a failure.
            process.terminate()
        await process.wait()


async def _stand_at_doors(port: int) -> None:
    doors = [Door(**door) for door in json.loads(sys.stdin.readline())]
    sockets = [await enter(port, door) for door in doors]
    while line := await asyncio.to_thread(sys.stdin.readline):
        work, seen = Work(**json.loads(line)), Measurements()
        await asyncio.gather(*(_talk(socket, work, seen) for socket in sockets[: work.people]))
        print(json.dumps(asdict(seen)), flush=True)


async def _talk(socket: ClientConnection, work: Work, seen: Measurements) -> None:
    """Take the turns of one person. People begin within a second, or within a pause when that is longer."""
    await asyncio.sleep(max(1.0, work.pause) * random.random())
    for _ in range(work.turns):
        started = time.time()
        await socket.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": work.text}))
        await read_answer(socket, seen, started)
        seen.turns.append(time.time() - started)
        await asyncio.sleep(work.pause * random.random())


async def read_answer(socket: ClientConnection, seen: Measurements, started: float) -> None:
    """Read the frames of an answer; note when its first words came, and how old its words were.

    Raises:
        RuntimeError: the server answered with an error.
    """
    is_first = True
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == "partial":
            now = time.time()
            if is_first:
                seen.first_words.append(now - started)
                is_first = False
            seen.ages += [now - yielded_at for yielded_at in times_in(frame["text"])]
        elif frame["type"] == "invocation" and frame["status"] == "completed":
            return
        elif frame["type"] == "error" or frame.get("status") == "failed":
            raise RuntimeError(f"the server answered {frame}")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_stand_at_doors(int(sys.argv[1])))
