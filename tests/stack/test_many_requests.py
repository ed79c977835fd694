"""Contract: a web process asks PostgreSQL for a bounded number of connections, however many requests come at once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from django.db import connection

from sessions_app.conf import conf
from tests.benchmarks.daphne import forked_daphne
from tests.benchmarks.doors import make_doors
from tests.integration.invocations.restart import end_all_backends, reconnected
from tests.stack.database import server_variables

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("transactional_db")]

REQUESTS = 80
END_SECONDS = 30
PATIENT = "tests.stack.patient"


def backends() -> int:
    """Return the number of PostgreSQL sessions of other processes and threads."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"  # autovacuum has processes in the database, too
        )
        return int(cursor.fetchone()[0])


async def most_backends_during(requests: asyncio.Future[list[int]]) -> int:
    """Return the highest number of backends until the requests are answered.

    One thread counts: backends of connections that it had closed before could still be ending.
    """
    most = 0
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(max_workers=1) as counter:
        while not requests.done():
            most = max(most, await loop.run_in_executor(counter, backends))
            await asyncio.wait([requests], timeout=0.05)
        await loop.run_in_executor(
            counter, lambda: connection.close()
        )  # Django has a connection for each thread.
    return most


async def get(client: httpx.AsyncClient) -> int:
    return (await client.get("/")).status_code


async def open_pages(port: int, cookie: str) -> tuple[list[int], int]:
    """Request the list of chats many times at once; return the statuses and the highest number of backends."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers={"Cookie": cookie}, limits=limits, timeout=120
    ) as client:
        requests = asyncio.gather(*(get(client) for _ in range(REQUESTS)))
        most = await most_backends_during(requests)
        return await requests, most


async def end_amid_requests(port: int, process: psutil.Process, cookie: str) -> None:
    """Stop the web process while its requests wait for a locked table; wait for its end."""
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers={"Cookie": cookie}, timeout=120
    ) as client:
        with psycopg.connect(server_variables()["DATABASE_URL"]) as lock:
            lock.execute("LOCK TABLE auth_user")
            requests = [asyncio.create_task(get(client)) for _ in range(REQUESTS)]
            while not lock.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                await asyncio.sleep(0.05)
            process.terminate()
            while await is_listening(client):
                await asyncio.sleep(0.05)
        await asyncio.to_thread(process.wait, END_SECONDS)
        await asyncio.gather(*requests, return_exceptions=True)


async def is_listening(client: httpx.AsyncClient) -> bool:
    with suppress(httpx.TransportError):
        await client.get("/healthz")
        return True
    return False


def test_many_requests_at_once_need_few_connections_also_after_a_restart_and_keep_no_process_alive(
    tmp_path: Path,
) -> None:
    (door,) = make_doors(1, "help_desk")
    before = backends()
    with (tmp_path / "log").open("w") as log, reconnected():
        site = forked_daphne(PATIENT, server_variables(), log)
        with site as (port, process):
            statuses, most = asyncio.run(open_pages(port, door.cookie))
            assert set(statuses) == {200}
            assert most - before <= conf().page_connections + 1, "the test itself has one"
            end_all_backends()
            connection.close()
            statuses, _ = asyncio.run(open_pages(port, door.cookie))
            assert set(statuses) == {200}
            asyncio.run(end_amid_requests(port, process, door.cookie))
