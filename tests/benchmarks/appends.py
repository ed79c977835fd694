"""Appends per second of the session service. Baseline: a bare psycopg statement that inserts the same row."""

from __future__ import annotations

import asyncio
import time

from django.contrib.auth.models import User

from runtime.sessions.session import Session
from sessions_app.base.codec import event_to_json
from sessions_app.process.pool import get_pool
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.benchmarks.people import WORDS, make_person, message_event

SECONDS = 3.0


async def measure() -> list[str]:
    """Return one line for each number of concurrent sessions."""
    person = await in_thread(make_person)
    lines = []
    for sessions in (1, 20):
        rates = {"bare": 0.0, "service": 0.0, "state": 0.0}
        for kind in rates:
            rates[kind] = await _rate(kind, person, sessions)
        lines.append(
            f"append, {sessions:2} session(s): {rates['service']:6.0f}/s, with state in three scopes "
            f"{rates['state']:6.0f}/s; bare psycopg insert {rates['bare']:6.0f}/s: "
            f"{rates['service'] / rates['bare']:.0%} and {rates['state'] / rates['bare']:.0%}"
        )
    return lines


async def _rate(kind: str, person: User, writers: int) -> float:
    service = DjangoSessionService()
    created = [await service.create_session(app_name="bench", user_id=str(person.pk)) for _ in range(writers)]
    write = _insert_rows if kind == "bare" else _append_events
    end = time.perf_counter() + SECONDS
    started = time.perf_counter()
    counts = await asyncio.gather(*(write(service, session, end, kind) for session in created))
    return sum(counts) / (time.perf_counter() - started)


async def _append_events(service: DjangoSessionService, session: Session, end: float, kind: str) -> int:
    count = 0
    while time.perf_counter() < end:
        event = message_event("agent", WORDS)
        if kind == "state":
            event.actions.state_delta = {"count": count, "user:count": count, "app:count": count}
        await service.append_event(session, event)
        count += 1
    return count


async def _insert_rows(service: DjangoSessionService, session: Session, end: float, kind: str) -> int:
    from sessions_app.models import Session as Row

    row = await Row.objects.aget(key=session.id)
    pool = await get_pool()
    count = 0
    insert = "INSERT INTO sessions_app_event (session_id, seq, body) VALUES (%s, %s, %s::jsonb) RETURNING seq"
    while time.perf_counter() < end:
        body = event_to_json(message_event("agent", WORDS))
        async with pool.connection() as connection:
            await (await connection.execute(insert, (row.pk, count + 1, body))).fetchone()
        count += 1
    return count
