"""Contract: a browser that does not read holds up nobody, grows no process, and misses nothing (issue 4).

A real Daphne, and sockets that are open and not read.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from sessions_app.db.threads import in_thread
from sessions_app.models import Event, Session
from tests.benchmarks.daphne import daphne, memory
from tests.benchmarks.doors import Door, make_doors
from tests.stack import database
from tests.stack.flood.agents import PIECES

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("transactional_db")]

STALLED = 60
MOST_BYTES_EACH = 600_000
"""What is kept for a socket that is not read; the answer alone has a million characters, and is sent twice."""
SMALL_BUFFER, SMALL_SEGMENT, LARGE_BUFFER = 16_384, 1_000, 1_000_000
"""The kernel keeps little for a socket with these, so that the process would have to."""
FOREVER, PATIENCE = 3600.0, 60.0


class Page:
    """What a browser's page knows: every event once, in order, and the text that grows."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.log: list[str] = []
        self.text = ""
        self.greetings = 0

    async def read(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            frame: dict[str, Any] = json.loads(await self.socket.recv())
        if frame["type"] == "ready":
            self.greetings += 1
            self.text = ""
        elif frame["type"] == "partial":
            assert frame["offset"] <= len(self.text), "text is missing"
            self.text = self.text[: frame["offset"]] + frame["text"]
            assert "".join(PIECES).startswith(self.text)
        elif frame["type"] == "event":
            assert frame["seq"] == len(self.log) + 1, "an event is missing, or comes twice"
            self.log.append(frame["event"]["id"])
        return frame

    async def read_until(self, **fields: Any) -> None:
        """Read on until a frame has these fields."""
        while not fields.items() <= (await self.read()).items():
            pass

    def hurry(self) -> None:
        """Give the socket room for much again."""
        tcp = self.socket.transport.get_extra_info("socket")
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE_BUFFER)

    async def send(self, **fields: Any) -> None:
        await self.socket.send(json.dumps({"v": 1, **fields}))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Daphne uses the test's database."""
    for name, value in database.of_the_tests().items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@asynccontextmanager
async def opened(port: int, door: Door, after: int = 0, *, will_stall: bool = False) -> AsyncIterator[Page]:
    """A page that has said hello; it takes from the socket only what it reads."""
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


async def test_readers_that_stall_cost_little_hold_up_nobody_and_get_everything_when_they_read_again(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("SLOW_READER_SECONDS", str(FOREVER))
    _, door = await in_thread(make_door)
    with daphne("adk_site.asgi:application", "tests.stack.flood.settings") as (port, process):
        async with opened(port, door) as reader, AsyncExitStack() as stalled:
            for number in range(2):  # the first answers of a process fill its caches
                await reader.send(type="message", id=f"m{number}", text="go")
                await reader.read_until(type="invocation", status="completed")
            alone = memory(process)
            known = len(reader.log)
            pages = [
                await stalled.enter_async_context(opened(port, door, after=known, will_stall=True))
                for _ in range(STALLED)
            ]
            await reader.send(type="message", id="m2", text="go")
            await reader.read_until(type="invocation", status="completed")
            assert (memory(process) - alone) / STALLED < MOST_BYTES_EACH

            pages[0].hurry()
            pages[0].log = reader.log[:known]
            await pages[0].read_until(type="event", seq=6)
            assert pages[0].log == reader.log
            assert pages[0].greetings == 2


async def test_who_does_not_read_is_disconnected_with_a_reason_in_the_log_and_may_come_back(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("SLOW_READER_SECONDS", "0.5")
    session, door = await in_thread(make_door)
    with (
        (tmp_path / "daphne.log").open("w") as log,
        daphne("adk_site.asgi:application", "tests.stack.flood.settings", log) as (port, _),
    ):
        async with opened(port, door, will_stall=True) as page:
            await page.send(type="message", id="m1", text="go")
            while f"session {session.pk} did not read" not in (tmp_path / "daphne.log").read_text():
                await asyncio.sleep(0.1)
            page.hurry()
            with pytest.raises(ConnectionClosed):
                await page.read_until(type="invocation", status="completed")
        async with opened(port, door, after=len(page.log)) as again:
            again.log = page.log
            await again.read_until(type="event", seq=2)
            stored = Event.objects.filter(session=session).order_by("seq")
            assert again.log == [event.event_id async for event in stored]
