"""Programs that run an agent by `/run_sse`, in a process of their own, so that they do not wait for what measures them.

`python -m tests.benchmarks.programs PORT` is used as `tests.benchmarks.crowd` is, with addresses in place of doors.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import httpx
import uvloop

from tests.benchmarks.work import Measurements, Work


@dataclass(frozen=True)
class Address:
    """Path of `/run_sse` of a server, and the names of one session there."""

    path: str
    headers: dict[str, str]
    names: dict[str, str]


async def _work_at_addresses(port: int) -> None:
    addresses = [Address(**address) for address in json.loads(sys.stdin.readline())]
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", limits=limits, timeout=120) as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            work, seen = Work(**json.loads(line)), Measurements()
            try:
                await asyncio.gather(*(_talk(client, each, work, seen) for each in addresses[: work.people]))
            except (httpx.HTTPError, RuntimeError) as error:
                print(json.dumps({"error": repr(error)}), flush=True)
                return
            print(json.dumps(asdict(seen)), flush=True)


async def _talk(client: httpx.AsyncClient, address: Address, work: Work, seen: Measurements) -> None:
    """Take the turns of one program. Programs begin within a second, or within a pause when that is longer."""
    await asyncio.sleep(max(1.0, work.pause) * random.random())
    for _ in range(work.turns):
        started = time.time()
        await _run(client, address, work, seen, started)
        seen.turns.append(time.time() - started)
        await asyncio.sleep(work.pause * random.random())


async def _run(
    client: httpx.AsyncClient, address: Address, work: Work, seen: Measurements, started: float
) -> None:
    message = {"role": "user", "parts": [{"text": work.text}]}
    body = {**address.names, "newMessage": message, "streaming": True}
    is_first = True
    async with client.stream("POST", address.path, headers=address.headers, json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                now = time.time()
                words = _streamed_words(json.loads(line.removeprefix("data: ")))
                if is_first and words:
                    seen.first_words.append(now - started)
                    is_first = False
                seen.ages += [now - float(word) for word in words]
    if is_first:
        raise RuntimeError("the server streamed no word")


def _streamed_words(event: dict[str, Any]) -> list[str]:
    """Return the words of a partial event; a whole event repeats them."""
    if "error" in event:
        raise RuntimeError(f"the server answered {event}")
    parts = event["content"]["parts"] if event.get("partial") else []
    return [word for part in parts for word in part["text"].split()]


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_work_at_addresses(int(sys.argv[1])))
