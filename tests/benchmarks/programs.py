"""Programs that run an agent by `/run_sse`, in a process of their own, so that they do not wait for what measures them.

`python -m tests.benchmarks.programs PORT` is used as `tests.benchmarks.crowd` is, with addresses in place of doors.

They write and read HTTP themselves: with 200 connections httpx is slower than the servers that are measured.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import Any

import uvloop

from tests.benchmarks.work import Measurements, Work, times_in


@dataclass(frozen=True)
class Address:
    """Path of `/run_sse` of a server, and the names of one session there."""

    path: str
    headers: dict[str, str]
    names: dict[str, str]


@dataclass
class Program:
    """A program with one connection, which stays open."""

    port: int
    address: Address
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(default=None, init=False)

    async def talk(self, work: Work, seen: Measurements) -> None:
        """Take the turns. Programs begin within a second, or within a pause when that is longer."""
        await asyncio.sleep(max(1.0, work.pause) * random.random())
        for _ in range(work.turns):
            started = time.time()
            await self._run(work.text, seen, started)
            seen.turns.append(time.time() - started)
            await asyncio.sleep(work.pause * random.random())

    async def _run(self, text: str, seen: Measurements, started: float) -> None:
        message = {"role": "user", "parts": [{"text": text}]}
        is_first = True
        async for line in self._post({**self.address.names, "newMessage": message, "streaming": True}):
            if line.startswith("data: "):
                now = time.time()
                times = _streamed_times(json.loads(line.removeprefix("data: ")))
                if is_first and times:
                    seen.first_words.append(now - started)
                    is_first = False
                seen.ages += [now - yielded_at for yielded_at in times]
        if is_first:
            raise RuntimeError("the server streamed no word")

    async def _post(self, body: dict[str, Any]) -> AsyncIterator[str]:
        """Send a request; yield the lines of its response, which comes in chunks of whole events."""
        if self._streams is None or self._streams[0].at_eof():  # The server has closed it meanwhile.
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        content = json.dumps(body).encode()
        headers = {"host": "localhost", "content-type": "application/json", "content-length": len(content)}
        lines = [f"{name}: {value}" for name, value in {**headers, **self.address.headers}.items()]
        writer.write("\r\n".join([f"POST {self.address.path} HTTP/1.1", *lines, "\r\n"]).encode() + content)
        status, _, rest = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
        if b" 200 " not in status:
            raise RuntimeError(f"the server answered {status!r} {rest!r}")
        while length := int(await reader.readline(), 16):
            chunk = await reader.readexactly(length)
            await reader.readline()
            for line in chunk.decode().splitlines():
                yield line
        await reader.readline()


async def _work_at_addresses(port: int) -> None:
    addresses = [Address(**address) for address in json.loads(sys.stdin.readline())]
    programs = [Program(port, address) for address in addresses]
    while line := await asyncio.to_thread(sys.stdin.readline):
        work, seen = Work(**json.loads(line)), Measurements()
        try:
            await asyncio.gather(*(program.talk(work, seen) for program in programs[: work.people]))
        except (OSError, EOFError, RuntimeError) as error:
            print(json.dumps({"error": repr(error)}), flush=True)
            return
        print(json.dumps(asdict(seen)), flush=True)


def _streamed_times(event: dict[str, Any]) -> list[float]:
    """Return the times in a partial event; a whole event repeats them."""
    if "error" in event:
        raise RuntimeError(f"the server answered {event}")
    parts = event["content"]["parts"] if event.get("partial") else []
    return [yielded_at for part in parts for yielded_at in times_in(part["text"])]


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_work_at_addresses(int(sys.argv[1])))
