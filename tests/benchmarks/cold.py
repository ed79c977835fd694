"""Sessions that a web process reads for the first time, and large answers: their time, and the wait of others.

The gap is the most CPU time for which the process's event loop served nobody else.
"""

from __future__ import annotations

import json
import time

import httpx2
from django.contrib.auth.models import User
from websockets.asyncio.client import ClientConnection

from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from tests.benchmarks.daphne import cpu_seconds, daphne, memory
from tests.benchmarks.doors import Door, enter, sign_in
from tests.benchmarks.histories import make_history
from tests.benchmarks.people import make_person

HISTORIES = (8, 1_000, 5_000, 20_000, 100_000)
WARM_TURNS = 20


async def measure() -> list[str]:
    """Return the lines of a process, of each length of history, and of the large answers."""
    from tests.benchmarks.loop_gaps import largest_gap

    person = await in_thread(make_person)
    cookie = await in_thread(sign_in, person)
    sessions = await in_thread(_make_sessions, person)
    began = time.perf_counter()
    with daphne("tests.benchmarks.loop_gaps:application", "tests.benchmarks.settings") as (port, process):
        lines = [f"a web process: {time.perf_counter() - began:.1f} s to its first connection"]
        shortest = sessions.pop(0)
        first = await enter(port, Door(f"/ws/chat/{shortest.pk}/", cookie), shortest.last_seq)
        await _ask(first, "hello")
        lines[0] += f", {memory(process) / 1e6:.0f} MB"
        for row in sessions:
            await largest_gap(port)
            page = await _open(port, cookie, row)
            page_gap = await largest_gap(port)
            socket = await enter(port, Door(f"/ws/chat/{row.pk}/", cookie), row.last_seq)
            await largest_gap(port)
            cpu = cpu_seconds(process)
            begun = await _ask(socket, "hello")
            cold_gap, cpu = await largest_gap(port), 1000 * (cpu_seconds(process) - cpu)
            warm_cpu = cpu_seconds(process)
            for _ in range(WARM_TURNS):
                await _ask(socket, "hello")
            warm_cpu = 1000 * (cpu_seconds(process) - warm_cpu) / WARM_TURNS
            lines.append(
                f"  {row.last_seq:6} events: page {page:4.0f} ms (gap {page_gap:3.0f}), cold turn begins after "
                f"{begun:5.0f} ms (gap {cold_gap:4.0f}, CPU {cpu:5.0f}); warm turn {warm_cpu:4.1f} ms of CPU, "
                f"gap {await largest_gap(port):3.0f}; process {memory(process) / 1e6:.0f} MB"
            )
            await socket.close()
        for question, answer in (("text", "an answer of 1 MB"), ("result", "a tool result of 5 MB")):
            await largest_gap(port)
            cpu = cpu_seconds(process)
            await _ask(first, question)
            cpu = 1000 * (cpu_seconds(process) - cpu)
            lines.append(f"  {answer}: gap {await largest_gap(port):.0f} ms, {cpu:.0f} ms of CPU")
        await first.close()
    return lines


def _make_sessions(person: User) -> list[Session]:
    return [make_history(person, "large", events) for events in (4, *HISTORIES)]


async def _open(port: int, cookie: str, row: Session) -> float:
    """Return the milliseconds for the page of a session."""
    async with httpx2.AsyncClient(headers={"Cookie": cookie}, timeout=60) as client:
        began = time.perf_counter()
        response = await client.get(f"http://127.0.0.1:{port}/chat/{row.pk}/")
        assert response.status_code == 200, response.status_code
        return 1000 * (time.perf_counter() - began)


async def _ask(socket: ClientConnection, text: str) -> float:
    """Wait until the message's turn has ended; return the milliseconds until the model was asked, if it told that."""
    began, asked = time.time(), 0.0
    await socket.send(json.dumps({"v": 1, "type": "message", "id": f"m{began}", "text": text}))
    while True:
        frame = json.loads(await socket.recv())
        if frame["type"] == "event" and text == "hello" and frame["event"]["author"] == "large":
            asked = 1000 * (float(frame["event"]["content"]["parts"][0]["text"]) - began)
        elif frame["type"] == "invocation" and frame["status"] in ("completed", "failed"):
            assert frame["status"] == "completed", frame
            return asked
