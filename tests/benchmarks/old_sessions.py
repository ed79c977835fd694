"""CPU of what people do with sessions of long ago: it should hardly grow with the number of events.

The data are those of `admin_pages`, with `BENCH_EVENTS` and `BENCH_DATA_DIR`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.test import Client

from runtime.sessions.session import Session as LoadedSession
from sessions_app.management.commands.adk_sample_data import EVENTS_PER_SESSION
from sessions_app.models import Event, Session
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.benchmarks.admin_pages import make_data
from tests.benchmarks.people import WORDS, message_event
from tests.benchmarks.servers import postgres_cpu_seconds

ROUNDS = 3
SESSIONS = 300
PEOPLE = 20


async def measure() -> list[str]:
    """Return a line for each act: the least CPU of some rounds, of the process and of PostgreSQL."""
    await in_thread(make_data)
    rounds = [await act_in_old_sessions() for _ in range(ROUNDS)]
    number = await in_thread(Event.objects.count)
    return [
        f"with {number} events, {name}: {min(found[name] for found in rounds):.2f} ms of CPU"
        for name in rounds[0]
    ]


async def act_in_old_sessions() -> dict[str, float]:
    """Return the milliseconds of CPU of each act, in sessions that no earlier call has used."""
    service = DjangoSessionService()  # with an empty cache
    rows = await in_thread(_some_sessions)
    loaded: list[LoadedSession] = []
    people = await in_thread(_signed_in, rows[:PEOPLE])
    found = {
        "first read of a session": await _cpu(SESSIONS, _load(service, rows, loaded)),
        "first append to it": await _cpu(SESSIONS, _append(service, loaded)),
        "next append": await _cpu(SESSIONS, _append(service, loaded)),
    }
    for address in ("/", "/?q=order", "/chat/{session}/"):
        found[f"page {address}"] = await _cpu(PEOPLE, in_thread(_visit, people, address))
    return found


async def _cpu(number: int, acts: Awaitable[object]) -> float:
    """Return the milliseconds of each of so many acts."""
    before = time.process_time() + postgres_cpu_seconds()
    await acts
    return (time.process_time() + postgres_cpu_seconds() - before) / number * 1000


async def _load(service: DjangoSessionService, rows: list[Session], loaded: list[LoadedSession]) -> None:
    for row in rows:
        found = await service.get_session(app_name=row.app_name, user_id=str(row.user_id), session_id=row.key)
        assert found
        loaded.append(found)


async def _append(service: DjangoSessionService, sessions: list[LoadedSession]) -> None:
    for session in sessions:
        await service.append_event(session, message_event("agent", WORDS))


def _some_sessions() -> list[Session]:
    """Return sample sessions that no earlier run has used."""
    unused = Session.objects.filter(last_seq=EVENTS_PER_SESSION, lease_owner="", app_name="help_desk")
    found: dict[UUID, Session] = {}
    while len(found) < SESSIONS:
        session = unused.filter(pk__gte=uuid4()).order_by("pk").first()
        if session:
            found[session.pk] = session
    return list(found.values())


def _signed_in(sessions: list[Session]) -> list[tuple[Client, Session]]:
    people = []
    for session in sessions:
        client = Client(SERVER_NAME="localhost")
        client.force_login(get_user_model().objects.get(pk=session.user_id))
        people.append((client, session))
    return people


def _visit(people: list[tuple[Client, Session]], address: str) -> None:
    for client, session in people:
        response = client.get(address.format(session=session.pk))
        assert response.status_code == 200, response.status_code
