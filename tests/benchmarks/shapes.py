"""Shapes of load on one web process, each beside the same work in a small form.

Many open chats of which few are answered, many people who arrive together, many readers of one answer, readers who stop
reading, and a person with many sessions. `long_session` has a session of many events, `backlog` many queued jobs.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

import httpx2
import psutil
from django.db import connection
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from sessions_app.process.threads import in_thread
from tests.benchmarks.crowd import crowd, read_answer
from tests.benchmarks.daphne import cpu_seconds, daphne, memory
from tests.benchmarks.doors import Door, enter, make_doors
from tests.benchmarks.servers import postgres_cpu_seconds
from tests.benchmarks.work import Measurements, Work, percentile

OPEN_CHATS, ANSWERED = 2_000, 50
ARRIVALS, SECONDS_OF_ARRIVING = (50, 150, 500), 10.0
READERS, ANSWERS_READ = (1, 200), 3
LONG_ANSWERS, OTHERS = 50, 20
SESSIONS, VISITS = (50, 5_000), 20
PAGES = ("", "chats/", "chats/?q=nobody", "activity/")
SMALL_BUFFER = 4_096


@dataclass
class Costs:
    """CPU of a web process and of PostgreSQL since this object was made, with the memory and connections of now."""

    process: psutil.Process
    web: float = 0.0
    postgres: float = 0.0

    def __post_init__(self) -> None:
        self.web, self.postgres = cpu_seconds(self.process), postgres_cpu_seconds()

    async def line(self, times: int, unit: str) -> str:
        """Return the costs for each of so many units."""
        web = cpu_seconds(self.process) - self.web
        postgres = postgres_cpu_seconds() - self.postgres
        return (
            f"CPU {1000 * web / times:.1f} + {1000 * postgres / times:.1f} ms (PostgreSQL) {unit}, "
            f"{memory(self.process) / 1e6:.0f} MB, {await in_thread(_connections)} connections"
        )


async def measure() -> list[str]:
    """Return the lines of each shape: its small form first."""
    lines = []
    for shape in SHAPES:
        async with site() as (port, process):
            lines += await shape(port, process)
    return lines


@asynccontextmanager
async def site() -> AsyncIterator[tuple[int, psutil.Process]]:
    """Run a web process; yield its port and process."""
    with daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, process):
        yield port, process


async def _open_chats(port: int, process: psutil.Process) -> list[str]:
    work = Work(ANSWERED)
    lines = []
    async with AsyncExitStack() as sockets:
        async with crowd(port, process, await in_thread(make_doors, ANSWERED, "paced")) as people:
            for count in (0, OPEN_CHATS):
                for door in await in_thread(_doors_of_people, count):
                    sockets.push_async_callback((await enter(port, door)).close)
                costs = Costs(process)
                seen = await people.do(work)
                lines.append(f"{count} open chats beside {work}: {seen}")
                lines.append(f"  {await costs.line(len(seen.turns), 'a turn')}")
    return lines


async def _arrivals(port: int, process: psutil.Process) -> list[str]:
    lines = []
    for count in ARRIVALS:
        doors = await in_thread(_doors_of_people, count)
        costs = Costs(process)
        pages: list[float] = []
        refused: list[int] = []
        seen = Measurements()
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=120, limits=limits
        ) as browser:
            await asyncio.gather(*(_arrive(browser, port, door, pages, refused, seen) for door in doors))
        lines.append(
            f"{count} people arrive within {SECONDS_OF_ARRIVING:.0f} s: page {summarize(pages)}, "
            f"first word {summarize(seen.first_words)}, turn {summarize(seen.turns)}, {len(refused)} sockets refused"
        )
        lines.append(f"  {await costs.line(count, 'a person')}")
    return lines


async def _arrive(
    browser: httpx2.AsyncClient,
    port: int,
    door: Door,
    pages: list[float],
    refused: list[int],
    seen: Measurements,
) -> None:
    await asyncio.sleep(SECONDS_OF_ARRIVING * random.random())
    began = time.time()
    response = await browser.get(f"/chat/{door.path.split('/')[3]}/", headers={"Cookie": door.cookie})
    assert response.status_code == 200, response.status_code
    pages.append(time.time() - began)
    tab = await _enter_at_last(port, door, refused)
    began = await _send(tab, Work(1))
    await read_answer(tab, seen, began)
    seen.turns.append(time.time() - began)
    await tab.close()


async def _enter_at_last(port: int, door: Door, refused: list[int]) -> ClientConnection:
    """Open a websocket; try again after a second, as the page does, when the server has refused it."""
    while True:
        try:
            return await enter(port, door)
        except (OSError, WebSocketException):
            refused.append(1)
            await asyncio.sleep(1.0)


async def _readers(port: int, process: psutil.Process) -> list[str]:
    lines = []
    for count in READERS:
        (door,) = await in_thread(make_doors, 1, "paced")
        tabs = [await enter(port, door) for _ in range(count)]
        costs, seen = Costs(process), Measurements()
        for _ in range(ANSWERS_READ):
            began = await _send(tabs[0], Work(1, words=200))
            await asyncio.gather(*(read_answer(tab, seen, began) for tab in tabs))
        lines.append(
            f"{count} readers of answers of 200 words: first word {summarize(seen.first_words)}, "
            f"words {summarize(seen.ages)} old"
        )
        lines.append(f"  {await costs.line(count * ANSWERS_READ, 'an answer and reader')}")
        for tab in tabs:
            await tab.close()
    return lines


async def _read_long_answers(port: int, process: psutil.Process) -> list[str]:
    return await _beside_long_answers(port, process, is_reading=True)


async def _stop_reading(port: int, process: psutil.Process) -> list[str]:
    return await _beside_long_answers(port, process, is_reading=False)


async def _beside_long_answers(port: int, process: psutil.Process, is_reading: bool) -> list[str]:
    work = Work(OTHERS, words=200)
    async with crowd(port, process, await in_thread(make_doors, OTHERS, "paced")) as people:
        tabs = [
            await _enter_slowly(port, door) for door in await in_thread(make_doors, LONG_ANSWERS, "paced")
        ]
        for tab in tabs:
            await _send(tab, Work(1, words=20_000))
        reading = [asyncio.create_task(_read(tab)) for tab in tabs if is_reading]
        costs = Costs(process)
        seen = await people.do(work)
        who = "read" if is_reading else "have stopped reading"
        lines = [
            f"{work} beside {LONG_ANSWERS} who {who}: {seen}",
            f"  {await costs.line(len(seen.turns), 'a turn')}",
        ]
        for tab in tabs:
            tab.transport.abort()
        await asyncio.gather(*reading, return_exceptions=True)
    return lines


async def _read(tab: ClientConnection) -> None:
    async for _ in tab:
        pass


async def _many_sessions(port: int, process: psutil.Process) -> list[str]:
    lines = []
    for count in SESSIONS:
        doors = await in_thread(make_doors, count, "paced")
        chat = f"chat/{doors[0].path.split('/')[3]}/"
        async with httpx2.AsyncClient(headers={"Cookie": doors[0].cookie}, timeout=60) as browser:
            for path in (*PAGES, chat):
                address = f"http://127.0.0.1:{port}/{path}"
                shown = path.replace(chat, "chat/…/")
                lines.append(
                    f"a person with {count} sessions, /{shown}: {await visit(browser, address, process)}"
                )
    return lines


async def visit(browser: httpx2.AsyncClient, address: str, process: psutil.Process) -> str:
    """Load a page again and again, after a first time that fills caches; return its times and costs."""
    await browser.get(address)
    costs = Costs(process)
    seconds = []
    for _ in range(VISITS):
        began = time.time()
        response = await browser.get(address)
        assert response.status_code == 200, (address, response.status_code)
        seconds.append(time.time() - began)
    return f"{summarize(seconds)}, {await costs.line(VISITS, 'a page')}"


async def _send(tab: ClientConnection, work: Work) -> float:
    """Send the message of the work; return the time."""
    began = time.time()
    await tab.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": work.text}))
    return began


async def _enter_slowly(port: int, door: Door) -> ClientConnection:
    """Open a websocket whose client buffers little, so that the server has to, once nobody reads."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    client.connect(("127.0.0.1", port))
    client.setblocking(False)
    tab = await connect(
        f"ws://127.0.0.1:{port}{door.path}",
        sock=client,
        additional_headers={"Cookie": door.cookie, "Origin": f"http://127.0.0.1:{port}"},
        compression=None,
        max_queue=1,
    )
    await tab.send(json.dumps({"v": 1, "type": "hello", "after": 0}))
    await tab.recv()
    return tab


def _doors_of_people(count: int) -> list[Door]:
    return [door for _ in range(count) for door in make_doors(1, "paced")]


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        return int(cursor.fetchone()[0])


def summarize(seconds: list[float]) -> str:
    """Return the median and the 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    middle, most = percentile(ordered, 0.5), percentile(ordered, 0.95)
    return f"{1000 * middle:.0f} ms (95 % within {1000 * most:.0f})"


SHAPES = (_open_chats, _arrivals, _readers, _read_long_answers, _stop_reading, _many_sessions)
