"""People who talk at once to a web process, which then stops: a worker goes on with all of their answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from uuid import uuid4

import httpx
import psycopg

from tests.browser.model import Model
from tests.model_server import Turn
from tests.stack.fleet import Fleet
from tests.stack.websocket_tab import Tab

PEOPLE = 20
WORDS = [f"word{number} " for number in range(6)]


@contextmanager
def most_connections(url: str, query: str) -> Iterator[Counter[str]]:
    """Yield the highest number of connections by name of the process, counted until the block ends.

    Args:
        query: returns a row for each connection, the name in its last column.
    """
    most: Counter[str] = Counter()
    has_ended = Event()

    def count() -> None:
        nonlocal most
        # pgbouncer's console knows only the simple protocol, which psycopg uses without parameters.
        with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
            while not has_ended.wait(0.02):
                rows = connection.execute(query).fetchall()
                most |= Counter(row[-1] for row in rows)

    counter = Thread(target=count)
    counter.start()
    try:
        yield most
    finally:
        has_ended.set()
        counter.join()


async def talk_while_a_process_stops(fleet: Fleet, model: Model) -> None:
    """Let each person ask `web1` and open a page of it, and stop it in the middle.

    On return a worker has given all answers, which each person has read at `web2`.
    """
    model.play(rules={"Tell me": Turn(text=WORDS, pause=0.2)})
    _, cookies = fleet.new_chat("web1")
    tabs = [Tab(str(uuid4()), cookies) for _ in range(PEOPLE)]
    async with httpx.AsyncClient(headers={"Cookie": cookies}, timeout=120) as client:
        pages = asyncio.gather(*(client.get(f"{fleet.url('web1')}/") for _ in tabs))
        await asyncio.gather(*(_ask(tab, fleet.url("web1")) for tab in tabs))
        assert {page.status_code for page in await pages} == {200}
    await asyncio.to_thread(fleet.stop, "web1")
    await asyncio.gather(*(_read_answer(tab, fleet.url("web2")) for tab in tabs))
    assert [tab.texts.count("".join(WORDS)) for tab in tabs] == [1] * PEOPLE


async def _ask(tab: Tab, url: str) -> None:
    await tab.open(url)
    await tab.send(type="message", id="m1", text="Tell me")
    await tab.read_until(lambda tab: tab.growing_text)


async def _read_answer(tab: Tab, url: str) -> None:
    await tab.open(url)
    await tab.read_until(lambda tab: "".join(WORDS) in tab.texts)
    await tab.close()
