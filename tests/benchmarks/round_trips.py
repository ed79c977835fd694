"""Round trips to PostgreSQL and Redis that a page or a turn waits for.

    .venv/bin/python -m tests.benchmarks.round_trips

Needs root. A web process is at the other end of a network: the time that something takes longer when a round trip takes
0.1 s more, divided by that. Each figure is the median of `TIMES`.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from contextlib import ExitStack
from uuid import uuid4

import httpx
from websockets.asyncio.client import connect

from tests.benchmarks.doors import Door, make_doors
from tests.benchmarks.people import make_person
from tests.benchmarks.servers import bench_site
from tests.forked_program import packages
from tests.free_port import free_port
from tests.network import NAMESPACE, Network
from tests.network.servers import listening_servers, url_of_postgres, url_of_redis
from tests.stack.web_process import wait_until_listening, web_program

TIMES = 15
DELAYS = (0.0, 0.05)
APP = "paced"
SETTINGS = "tests.benchmarks.settings"


async def measure(network: Network, origin: str, pages: list[str], doors: list[Door], staff: str) -> None:
    """Print the round trips."""
    seconds: dict[str, list[float]] = {}
    for delay in DELAYS:
        network.delay(delay)
        for page in pages:
            cookie = staff if page.startswith("/admin") else doors[0].cookie
            seconds.setdefault(page, []).append(await _page(origin, page, cookie))
        first_word, whole = await _turns(origin, doors)
        seconds.setdefault("turn: first word", []).append(first_word)
        seconds.setdefault("turn with a function call", []).append(whole)
    for name, (near, far) in seconds.items():
        trips = (far - near) / (2 * (DELAYS[1] - DELAYS[0]))
        print(f"{name}: {trips:.1f} round trips, {near * 1000:.0f} ms without any", flush=True)


async def _page(origin: str, page: str, cookie: str) -> float:
    times = []
    async with httpx.AsyncClient(base_url=origin, headers={"Cookie": cookie}, timeout=60) as client:
        for _ in range(TIMES):
            began = time.monotonic()
            response = await client.get(page)
            assert response.status_code == httpx.codes.OK, (page, response.status_code)
            times.append(time.monotonic() - began)
    return statistics.median(times)


async def _turns(origin: str, doors: list[Door]) -> tuple[float, float]:
    """Return the times until the first word and the end of a turn."""
    first_words, wholes = [], []
    for door in doors:
        address = f"{origin.replace('http', 'ws', 1)}{door.path}"
        headers = {"Cookie": door.cookie, "Origin": origin}
        async with connect(address, additional_headers=headers, max_size=None) as socket:
            await socket.send(json.dumps({"v": 1, "type": "hello", "after": 0}))
            await socket.recv()
            began = time.monotonic()
            await socket.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": "Hello"}))
            first_word = 0.0
            while True:
                frame = json.loads(await socket.recv())
                if frame["type"] == "partial" and not first_word:
                    first_word = time.monotonic() - began
                if frame["type"] == "invocation" and frame["status"] == "completed":
                    break
            first_words.append(first_word)
            wholes.append(time.monotonic() - began)
    return statistics.median(first_words), statistics.median(wholes)


def main() -> None:
    with bench_site(SETTINGS), ExitStack() as at_end:
        from django.conf import settings
        from django.db import connections

        from tests.benchmarks.doors import sign_in

        doors = make_doors(TIMES, APP)
        admin = make_person()
        admin.is_staff = admin.is_superuser = True
        admin.save()
        staff = sign_in(admin)
        connections.close_all()
        network = at_end.enter_context(Network("site"))
        listening_servers(settings.DATA_DIR, network)
        host, port = network.sites["site"], free_port()
        environment = {
            **os.environ,
            "DATABASE_URL": url_of_postgres(network),
            "REDIS_URL": url_of_redis(network),
            "ALLOWED_HOSTS": host,
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            NAMESPACE: network.namespace("site"),
        }
        log = settings.DATA_DIR / "web.log"
        web = packages().run_with_log(*web_program(port, host=host), environment=environment, log=log)
        at_end.callback(web.kill)
        wait_until_listening(port, host)
        session = doors[0].path.split("/")[3]
        pages = [
            "/",
            f"/chat/{session}/",
            "/healthz",
            "/admin/",
            f"/admin/sessions_app/session/{session}/change/",
        ]
        asyncio.run(measure(network, f"http://{host}:{port}", pages, doors, staff))


if __name__ == "__main__":
    main()
