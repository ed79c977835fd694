"""Contract: a browser that stops reading delays no other, costs bounded memory, and later gets every event.

The tests use a real Daphne, and websockets and event streams that are open but not read.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from sessions_app.models import Event, Session
from sessions_app.process.threads import in_thread
from tests.benchmarks.daphne import daphne, memory
from tests.benchmarks.doors import Door, make_doors
from tests.stack.database import server_variables
from tests.stack.flood.agents import PIECES

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("transactional_db")]

STALLED_READERS = 60
MAX_BYTES_PER_READER = 600_000
"""Memory limit for a stalled reader; an answer has a million characters, and is sent as partials and as an event."""
SMALL_BUFFER, SMALL_SEGMENT, LARGE_BUFFER = 16_384, 1_000, 1_000_000
"""Socket sizes; with the small ones the kernel buffers little, so that the server process has to."""
FOREVER_SECONDS, TIMEOUT_SECONDS, END_SECONDS = 3600.0, 60.0, 20.0


class Page:
    """Websocket client that checks the frames as it reads: every event once and in order, and no gap in the text."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.log: list[str] = []
        self.text = ""
        self.ready_frames = 0

    async def read(self) -> dict[str, Any]:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            frame: dict[str, Any] = json.loads(await self.socket.recv())
        if frame["type"] == "ready":
            self.ready_frames += 1
            self.text = ""
        elif frame["type"] == "partial":
            assert frame["offset"] <= len(self.text), "text is missing"
            self.text = self.text[: frame["offset"]] + frame["text"]
            assert "".join(PIECES).startswith(self.text)
        elif frame["type"] == "event":
            assert frame["seq"] == len(self.log) + 1, "an event is missing or repeated"
            self.log.append(frame["event"]["id"])
        return frame

    async def read_until(self, **fields: Any) -> None:
        """Read frames until one has these fields."""
        while not fields.items() <= (await self.read()).items():
            pass

    def enlarge_buffer(self) -> None:
        """Let the socket receive quickly again."""
        tcp = self.socket.transport.get_extra_info("socket")
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE_BUFFER)

    async def send(self, **fields: Any) -> None:
        await self.socket.send(json.dumps({"v": 1, **fields}))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Environment variables that make Daphne use the test's database."""
    for name, value in server_variables().items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@asynccontextmanager
async def open_page(
    port: int, door: Door, after: int = 0, *, will_stall: bool = False
) -> AsyncIterator[Page]:
    """Connect a page that reads frames only on request; `will_stall` gives it small socket buffers."""
    tcp = socket.socket()
    if will_stall:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SMALL_SEGMENT)
    tcp.connect(("127.0.0.1", port))
    headers = {"Cookie": door.cookie, "Origin": f"http://127.0.0.1:{port}"}
    async with connect(
        f"ws://127.0.0.1:{port}{door.path}",
        sock=tcp,
        additional_headers=headers,
        compression=None,
        max_size=None,
        max_queue=1,
        ping_interval=None,
        close_timeout=0.1,
    ) as client:
        page = Page(client)
        await page.send(type="hello", after=after)
        await page.read_until(type="ready")
        yield page


def make_door() -> tuple[Session, Door]:
    (door,) = make_doors(1, "flood")
    return Session.objects.get(pk=door.path.split("/")[3]), door


@asynccontextmanager
async def open_warm_site(
    environment: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[int, psutil.Process, Door, Page]]:
    """Serve the site, whose caches two answers have filled; yield port, process, a door to the chat, and its reader."""
    environment.setenv("SLOW_READER_SECONDS", str(FOREVER_SECONDS))
    _, door = await in_thread(make_door)
    with daphne("adk_site.asgi:application", "tests.stack.flood.settings") as (port, process):
        async with open_page(port, door) as reader:
            for number in range(2):
                await reader.send(type="message", id=f"m{number}", text="go")
                await reader.read_until(type="invocation", status="completed")
            yield port, process, door, reader


async def test_stalled_readers_cost_little_memory_delay_nobody_and_can_catch_up(
    environment: pytest.MonkeyPatch,
) -> None:
    async with open_warm_site(environment) as (port, process, door, reader), AsyncExitStack() as stalled:
        before = memory(process)
        log_length = len(reader.log)
        pages = [
            await stalled.enter_async_context(open_page(port, door, after=log_length, will_stall=True))
            for _ in range(STALLED_READERS)
        ]
        await reader.send(type="message", id="m2", text="go")
        await reader.read_until(type="invocation", status="completed")
        assert (memory(process) - before) / STALLED_READERS < MAX_BYTES_PER_READER

        pages[0].enlarge_buffer()
        pages[0].log = reader.log[:log_length]
        await pages[0].read_until(type="event", seq=6)
        assert pages[0].log == reader.log
        assert pages[0].ready_frames == 2


@asynccontextmanager
async def open_stream(port: int, door: Door, after: int) -> AsyncIterator[None]:
    """Open an event stream whose browser reads little more than the first frame."""
    tcp = socket.socket()
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SMALL_SEGMENT)
    tcp.connect(("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=tcp, limit=SMALL_BUFFER)
    path = f"{door.path.replace('/ws/', '/sse/')}?after={after}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {door.cookie}\r\n\r\n".encode())
    await reader.readuntil(b'"type": "ready"')
    yield
    writer.close()


async def test_stalled_event_streams_cost_little_memory_and_the_end_of_the_process_waits_for_none(
    environment: pytest.MonkeyPatch,
) -> None:
    async with open_warm_site(environment) as (port, process, door, reader), AsyncExitStack() as stalled:
        before = memory(process)
        for _ in range(STALLED_READERS):
            await stalled.enter_async_context(open_stream(port, door, len(reader.log)))
        await reader.send(type="message", id="m2", text="go")
        await reader.read_until(type="invocation", status="completed")
        assert (memory(process) - before) / STALLED_READERS < MAX_BYTES_PER_READER
        process.terminate()
        await asyncio.to_thread(process.wait, END_SECONDS)


async def test_a_reader_that_stalls_too_long_is_disconnected_logged_and_may_reconnect(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("SLOW_READER_SECONDS", "0.5")
    session, door = await in_thread(make_door)
    with (
        (tmp_path / "daphne.log").open("w") as log,
        daphne("adk_site.asgi:application", "tests.stack.flood.settings", log) as (port, _),
    ):
        async with open_page(port, door, will_stall=True) as page:
            await page.send(type="message", id="m1", text="go")
            while f"session {session.pk} did not read" not in (tmp_path / "daphne.log").read_text():
                await asyncio.sleep(0.1)
            page.enlarge_buffer()
            with pytest.raises(ConnectionClosed):
                await page.read_until(type="invocation", status="completed")
        async with open_page(port, door, after=len(page.log)) as reconnected:
            reconnected.log = page.log
            await reconnected.read_until(type="event", seq=2)
            stored = Event.objects.filter(session=session).order_by("seq")
            assert reconnected.log == [event.event_id async for event in stored]
