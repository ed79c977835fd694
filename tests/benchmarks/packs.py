"""Cost of packing and opening sessions: CPU, sizes of the tables and files, and the longest time a session is locked.

The sessions are those of `adk_sample_data`, `BENCH_EVENTS` (10,000) events in a tenth as many sessions, and one session
of 10,000 events more. The lock is that of the statement that deletes or inserts the events of a session.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models import Sum

from sessions_app.data_protection.packing import pack_session
from sessions_app.history.figures.batches import count_figures, recount_all_sessions
from sessions_app.models import Event, Pack, Session
from sessions_app.process.threads import in_thread
from sessions_app.store.packs import open_pack

TABLES = ("sessions_app_event", "sessions_app_eventwords")
EVENTS = 10_000


async def measure() -> list[str]:
    return await in_thread(_measure)


def _measure() -> list[str]:
    settings.DEV = True
    call_command("adk_sample_data", events=int(os.environ.get("BENCH_EVENTS", "10000")), stdout=StringIO())
    _count_all()
    lines = [f"packs: before, {_sizes()}"]
    sessions = list(Session.objects.order_by("pk"))
    lines += _measure_each("packed", sessions, lambda session: pack_session(session.pk))
    files = Pack.objects.aggregate(bytes=Sum("size"))["bytes"]
    lines.append(f"packs: files of {files / 2**20:.1f} MiB, in the tables {_sizes()}")
    _vacuum("")
    lines.append(f"packs: after a vacuum, {_sizes()}")
    _vacuum("FULL, ")
    lines.append(f"packs: after VACUUM FULL, {_sizes()}")
    lines += _measure_each("opened", _read_again(sessions), open_pack)
    lines.append(f"packs: {_sizes()}")
    long = _long_session()
    lines += _measure_each(f"of {EVENTS} events packed", [long], lambda session: pack_session(session.pk))
    lines += _measure_each(f"of {EVENTS} events opened", _read_again([long]), open_pack)
    return lines


def _measure_each(name: str, sessions: list[Session], act: Callable[[Session], object]) -> list[str]:
    begin = time.process_time()
    server = _server_seconds()
    with _longest_lock() as longest:
        for session in sessions:
            act(session)
    cpu = time.process_time() - begin
    statements = _server_seconds() - server
    count = len(sessions)
    return [
        f"packs: {count} {name}: {cpu / count * 1000:.1f} ms of CPU each, and {statements / count * 1000:.1f} ms "
        f"in PostgreSQL; longest lock {longest[0] * 1000:.0f} ms"
    ]


@contextmanager
def _longest_lock() -> Iterator[list[float]]:
    longest = [0.0]

    def time_statement(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        begin = time.monotonic()
        result = execute(sql, *args)
        if "adk_pack_session" in sql or "adk_open_pack" in sql:
            longest[0] = max(longest[0], time.monotonic() - begin)
        return result

    with connection.execute_wrapper(time_statement):
        yield longest


def _server_seconds() -> float:
    """Return the CPU seconds of the server process of this connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _sizes() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(pg_total_relation_size(t)) FROM unnest(%s::regclass[]) t", [list(TABLES)])
        return f"{cursor.fetchone()[0] / 2**20:.1f} MiB of events and words"


def _vacuum(option: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM ({option}ANALYZE) {', '.join(TABLES)}")


def _count_all() -> None:
    recount_all_sessions()
    while count_figures(60):
        pass


def _read_again(sessions: list[Session]) -> list[Session]:
    return list(Session.objects.filter(pk__in=[session.pk for session in sessions]))


def _long_session() -> Session:
    person = Session.objects.values_list("user_id", flat=True)[0]
    session = Session.objects.create(app_name="shop", user_id=person, key="long", last_seq=EVENTS)
    for seq in range(1, EVENTS + 1):
        body = {
            "author": "agent",
            "timestamp": seq,
            "content": {"parts": [{"text": f"{seq} lanterns " * 60}]},
        }
        Event.objects.create(session=session, seq=seq, body=body)
    _count_all()
    return session
