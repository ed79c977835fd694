"""Cost of an invocation in PostgreSQL (rows, commits, write-ahead log) and Redis (commands), and the size of events.

The invocation is that of `turns`: a message, a function call, its response, and an answer of twenty words. The size is
measured on a table of more than 100,000 such events, with its indexes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from redis.asyncio import Redis

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors
from sessions_app.conf import conf
from sessions_app.invocations.worker import worker
from sessions_app.live.process import live
from sessions_app.process.threads import in_thread
from sessions_app.shutdown import shut_down
from tests.benchmarks.daphne import daphne
from tests.benchmarks.doors import enter, make_doors
from tests.benchmarks.people import make_person
from tests.benchmarks.turns import ANSWER, look_up
from tests.fakes import ScriptedModel, call

TURNS = 200
OTHER_PROCESSES = 2
COPIES = 75
"""Number of copies of all sessions: 75 x 400 invocations with four events are 120,000 events."""


async def measure() -> list[str]:
    """Return one line for PostgreSQL, one for Redis and one for the size of events."""
    model = ScriptedModel()
    app = App(name="bench", root_agent=LlmAgent(name="agent", model=model, tools=[look_up]))
    registry.apps = lambda: {"bench": app}
    person = await in_thread(make_person)
    before = await in_thread(_write_counters)
    alone = await _commands_per_turn(person, model)
    await shut_down()  # PostgreSQL updates a connection's statistics when it closes
    after = await in_thread(_write_counters)
    written = {name: (after[name] - before[name]) / TURNS for name in after}
    async with _other_processes(OTHER_PROCESSES):
        together = await _commands_per_turn(person, model)
    each = (together - alone) / OTHER_PROCESSES
    return [
        f"an invocation: {written['inserted']:.1f} rows inserted, {written['updated']:.1f} updated, "
        f"{written['commits']:.1f} commits, {written['log'] / 1024:.1f} KB of write-ahead log",
        f"an invocation: {alone:.0f} Redis commands, and {each:.0f} for each further process",
        await in_thread(_event_size),
    ]


async def _commands_per_turn(person: User, model: ScriptedModel) -> float:
    session = await use_cases.create_session(person, "bench")
    live()
    await asyncio.sleep(conf().heartbeat_seconds + 1)  # until the processes know each other
    async with Redis.from_url(settings.REDIS_URL) as client:
        before = (await client.info("stats"))["total_commands_processed"]
        for number in range(TURNS):
            model.turns = [call("look_up", word="x"), ANSWER]
            await use_cases.send_message(actors.person(person), session.id, f"m{number}", "look it up")
            for running in list(worker()._running.values()):
                await running.task
        return float((await client.info("stats"))["total_commands_processed"] - before) / TURNS


@asynccontextmanager
async def _other_processes(count: int) -> AsyncIterator[None]:
    """Run web processes with one websocket each, in other sessions."""
    doors = await in_thread(make_doors, count, "paced")
    async with AsyncExitStack() as stack:
        for door in doors:
            port, _ = stack.enter_context(daphne("adk_site.asgi:application", "tests.benchmarks.settings"))
            socket = await enter(port, door)
            stack.push_async_callback(socket.close)
        yield


def _write_counters() -> dict[str, float]:
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT (SELECT sum(n_tup_ins) FROM pg_stat_user_tables), (SELECT sum(n_tup_upd) FROM pg_stat_user_tables),
                xact_commit, pg_current_wal_lsn() - '0/0' FROM pg_stat_database WHERE datname = current_database()""")
        row = cursor.fetchone()
    connection.close()
    return dict(zip(("inserted", "updated", "commits", "log"), map(float, row), strict=True))


def _event_size() -> str:
    """Copy the sessions with their events, and measure the size of the event table."""
    with connection.cursor() as cursor:
        cursor.execute(_COPY, [COPIES])
        cursor.execute("VACUUM ANALYZE sessions_app_event")
        cursor.execute("""
            SELECT count(*), pg_table_size('sessions_app_event'), pg_indexes_size('sessions_app_event')
            FROM sessions_app_event""")
        events, table, indexes = cursor.fetchone()
    total_bytes, index_bytes = (table + indexes) / events, indexes / events
    return f"{events:,} events: {total_bytes:,.0f} bytes each, {index_bytes:,.0f} of them in indexes"


_COPY = """
WITH copies AS (
    INSERT INTO sessions_app_session (id, app_name, user_id, key, last_seq)
    SELECT gen_random_uuid(), s.id::text, s.user_id, s.key || number, s.last_seq
    FROM sessions_app_session s, generate_series(1, %s) number
    RETURNING id, app_name
)
INSERT INTO sessions_app_event (session_id, seq, body, before)
SELECT copies.id, e.seq, e.body, e.before
FROM copies JOIN sessions_app_event e ON e.session_id = copies.app_name::uuid"""
