"""CPU of a web process to send a long session: by cursor, and whole, beside google-adk's own server.

google-adk's server is measured as in `run_streams`.
"""

from __future__ import annotations

from typing import Any

import httpx
import psutil

from sessions_app.process.threads import in_thread
from tests.benchmarks.daphne import cpu_seconds, daphne
from tests.benchmarks.histories import make_history
from tests.benchmarks.people import make_person
from tests.benchmarks.run_streams import ADK_PYTHON, SKIPPED, google_adk

EVENTS = 5_000
READINGS = 10
PAGES = (100, 1_000)


async def measure() -> list[str]:
    """Return a line for pages of each size, for the whole session, and for google-adk's server."""
    path, whole_path, headers = await in_thread(_make_session)
    lines = [f"CPU to send {EVENTS} events, mean of {READINGS} readings:"]
    with daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, server):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
            for size in PAGES:
                milliseconds = await _measure_pages(client, server, path, size)
                lines.append(f"  by cursor, {size:4} a page: {milliseconds:.0f} ms")
            session, milliseconds = await _measure_whole(client, server, whole_path)
            lines.append(f"  the whole session:       {milliseconds:.0f} ms")
    return [*lines, f"  google-adk, the whole:   {await _measure_google_adk(session['events'])}"]


def _make_session() -> tuple[str, str, dict[str, str]]:
    """Create a session; return the addresses of its events and of the whole, and the header with a key."""
    from sessions_app.models import ApiKey

    person = make_person()
    row = make_history(person, "large", EVENTS)
    _, key = ApiKey.objects.all().make(user=person, name="bench", scopes=["read"])
    whole = f"/adk/apps/large/users/{person.pk}/sessions/{row.key}"
    return f"/api/v1/sessions/{row.pk}/events", whole, {"authorization": f"Bearer {key}"}


async def _measure_pages(client: httpx.AsyncClient, server: psutil.Process, path: str, size: int) -> float:
    await _read_pages(client, path, size)  # fills the caches of the process
    before = cpu_seconds(server)
    for _ in range(READINGS):
        assert await _read_pages(client, path, size) == EVENTS
    return 1000 * (cpu_seconds(server) - before) / READINGS


async def _read_pages(client: httpx.AsyncClient, path: str, size: int) -> int:
    after, events = 0, 0
    while after is not None:
        page = (await client.get(path, params={"after": after, "limit": size})).raise_for_status().json()
        events, after = events + len(page["items"]), page["next"]
    return events


async def _measure_whole(
    client: httpx.AsyncClient, server: psutil.Process, path: str
) -> tuple[dict[str, Any], float]:
    """Return the session, and the milliseconds."""
    session = (await client.get(path)).raise_for_status().json()
    before = cpu_seconds(server)
    for _ in range(READINGS):
        (await client.get(path)).raise_for_status()
    return session, 1000 * (cpu_seconds(server) - before) / READINGS


async def _measure_google_adk(events: list[dict[str, Any]]) -> str:
    if not ADK_PYTHON.exists():
        return SKIPPED
    sessions = "/apps/paced/users/ada/sessions"
    with google_adk() as (port, server):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            body = {"sessionId": "long", "events": events}
            (await client.post(sessions, json=body)).raise_for_status()
            session, milliseconds = await _measure_whole(client, server, f"{sessions}/long")
            assert len(session["events"]) == EVENTS
            return f"{milliseconds:.0f} ms"
