"""One table of events beside one in 32 parts by the hash of the session: does a partitioned table pay?

A copy of the events and of their words is partitioned, and takes the names of the tables in turn with them, so the site
itself reads and writes both. The data are those of `admin_pages`, at least 100,000 events. Afterwards some of their
sessions lack events: give `BENCH_DATA_DIR` a directory of its own, or none.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from sessions_app.history.figures.batches import count_figures
from sessions_app.models import Event, EventWords
from sessions_app.process.threads import in_thread
from sessions_app.shutdown import shut_down
from tests.benchmarks.admin_pages import make_data, signed_in
from tests.benchmarks.old_sessions import act_in_old_sessions
from tests.benchmarks.servers import postgres_cpu_seconds

PARTS = 32
ROUNDS = 5
VISITS = 10
PLANS = 50
ONE, MANY = "one", "many"
NAMES = {ONE: "one table", MANY: f"{PARTS} parts"}
KEYS: dict[type[Model], tuple[str, str]] = {
    Event: ("id", "session_id"),
    EventWords: ("event_id", "session_id"),
}
"""Primary keys of the partitioned tables: such a key must contain the column that chooses the part."""
PAGES = {
    "staff's search of events for a common word": "event/?q=refund",
    "staff's search of events for a rare word": "event/?q=kettle+31007",
    "staff's search of sessions for a common word": "session/?q=refund",
    "staff's list of events with an error": "event/?kind=error",
    "staff's list of events": "event/",
}
STATEMENTS = {
    "events of a session": "SELECT seq, body FROM {table} WHERE session_id = '{session}' AND seq > 0 ORDER BY seq",
    "an event by its key": "SELECT seq, body FROM {table} WHERE id = {event}",
    "newest events of all sessions": "SELECT seq, body FROM {table} ORDER BY id DESC LIMIT 101",
}
Figures = dict[str, float]


async def measure() -> list[str]:
    """Return the sizes of both layouts, and a line with the least figures of each for every act."""
    await in_thread(make_data)
    try:
        await in_thread(_copy)
        return await _compare()
    finally:
        await in_thread(_remove_copies)


async def _compare() -> list[str]:
    lines = [
        f"partitions: {await in_thread(Event.objects.count)} events, ms of CPU, {NAMES[ONE]}, {NAMES[MANY]}"
    ]
    lines += await in_thread(_sizes)
    rounds: dict[str, list[Figures]] = {ONE: [], MANY: []}
    for number in range(ROUNDS):
        for layout in _in_turn(number):
            await in_thread(_use, layout)
            found = await act_in_old_sessions()
            await shut_down()  # the pool, with its prepared statements
            await in_thread(_store_words)
            found |= await in_thread(_visit)
            found |= await in_thread(_plan)
            rounds[layout].append(found)
    for number in range(ROUNDS):
        for layout in _in_turn(number):
            rounds[layout][number] |= await in_thread(_vacuum_after_deletion, layout, number)
    for name in rounds[ONE][0]:
        least = {layout: min(found[name] for found in rounds[layout]) for layout in rounds}
        lines.append(f"partitions: {name}: {least[ONE]:.2f}, {least[MANY]:.2f}")
    return lines


def _in_turn(number: int) -> tuple[str, str]:
    return (ONE, MANY) if number % 2 == 0 else (MANY, ONE)


def _table(model: type[Model], layout: str) -> str:
    return f"{model._meta.db_table}_{layout}"


def _use(layout: str) -> None:
    """Give the tables of a layout the names that the site reads, and take them from the other layout."""
    for model in KEYS:
        name = model._meta.db_table
        other = MANY if layout == ONE else ONE
        if _value("SELECT to_regclass(%s)", [_table(model, layout)]):  # set aside
            _execute(f"ALTER TABLE {name} RENAME TO {_table(model, other)}")
            _execute(f"ALTER TABLE {_table(model, layout)} RENAME TO {name}")


def _copy() -> None:
    """Make the partitioned copies, with the indexes, defaults and triggers of the tables; leave them aside."""
    for model in KEYS:
        name, copy = model._meta.db_table, _table(model, MANY)
        options = "INCLUDING GENERATED INCLUDING STORAGE"
        _execute(f"CREATE TABLE {copy} (LIKE {name} {options}) PARTITION BY HASH (session_id)")
        for part in range(PARTS):
            bounds = f"FOR VALUES WITH (MODULUS {PARTS}, REMAINDER {part})"
            _execute(f"CREATE TABLE {copy}_{part} PARTITION OF {copy} {bounds}")
        columns = [str(field.column) for field in model._meta.concrete_fields if not field.generated]
        names = ", ".join(columns)
        _execute(f"INSERT INTO {copy} ({names}) SELECT {names} FROM {name} ORDER BY {columns[0]}")
        _execute(f"ALTER TABLE {copy} ADD PRIMARY KEY ({', '.join(KEYS[model])})")
        reference = "FOREIGN KEY (session_id) REFERENCES sessions_app_session DEFERRABLE INITIALLY DEFERRED"
        _execute(f"ALTER TABLE {copy} ADD {reference}")
        for definition in _definitions("indexdef FROM pg_indexes WHERE tablename = %s", name):
            if f"INDEX {name}_pkey" not in definition:
                _execute(re.sub(r"INDEX \w+ ON \S+", f"INDEX ON {copy}", definition))
        triggers = "pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = %s::regclass"
        for definition in _definitions(triggers, name):
            _execute(re.sub(r" ON \S+", f" ON {copy}", definition))
        # The indexes of the copy are new, too.
        _execute(f"REINDEX TABLE {name}")
    sequence = _value("SELECT pg_get_serial_sequence(%s, 'id')", [Event._meta.db_table])
    _execute(f"ALTER TABLE {_table(Event, MANY)} ALTER id SET DEFAULT nextval('{sequence}')")
    _execute("VACUUM ANALYZE")


def _remove_copies() -> None:
    """Give the tables their names back, and delete the copies."""
    _use(ONE)
    for model in KEYS:
        _execute(f"DROP TABLE IF EXISTS {_table(model, MANY)}")


def _definitions(selected: str, table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {selected}", [table])
        return [definition for (definition,) in cursor.fetchall()]


def _sizes() -> list[str]:
    """Return the sizes of the indexes of each layout, and of its largest index; the first layout is in use."""
    lines = []
    for model in KEYS:
        shown = [_size_of_indexes(table) for table in (model._meta.db_table, _table(model, MANY))]
        lines.append(f"partitions: indexes of {model._meta.verbose_name}: {', '.join(shown)}")
    return lines


def _size_of_indexes(table: str) -> str:
    parts = "SELECT relid FROM pg_partition_tree(%s) UNION SELECT %s::regclass"
    together, largest = _row(
        "SELECT sum(pg_relation_size(indexrelid)) / 1e6, max(pg_relation_size(indexrelid)) / 1e6"
        f" FROM pg_index WHERE indrelid IN ({parts})",
        [table, table],
    )
    return f"{together:.1f} MB (largest {largest:.1f} MB)"


def _store_words() -> None:
    """Store the words of the appended events: another round would look for them in the other layout."""
    while count_figures(60):
        pass


def _visit() -> Figures:
    """Return the milliseconds of CPU of pages, Python's included."""
    client = signed_in("auditor")
    return {name: _cpu_of_page(client, page) for name, page in PAGES.items()}


def _cpu_of_page(client: Client, page: str) -> float:
    address = reverse("admin:app_list", args=["sessions_app"]) + page
    client.get(address)
    with _clock() as spent:
        for _ in range(VISITS):
            response = client.get(address)
            assert response.status_code == 200, (address, response.status_code)
    return spent() / VISITS


def _plan() -> Figures:
    """Return the least time to plan each statement, and the time of the first plan of a new connection."""
    event = Event.objects.order_by("-pk").values("pk", "session")[PLANS]
    found = {}
    for name, statement in STATEMENTS.items():
        text = statement.format(table=Event._meta.db_table, session=event["session"], event=event["pk"])
        connection.close()
        _row("SELECT 1")
        found[f"planning of {name}, first in a connection, ms"] = _planning_time(text)
        found[f"planning of {name}, ms"] = min(_planning_time(text) for _ in range(PLANS))
    used = "SELECT sum(used_bytes) / 1e6 FROM pg_backend_memory_contexts"
    return {**found, "memory of a connection that has planned the last one, MB": float(_value(used, []))}


def _planning_time(statement: str) -> float:
    ((plan,),) = _row(f"EXPLAIN (SUMMARY, FORMAT JSON) {statement}")
    return float(plan["Planning Time"])


def _vacuum_after_deletion(layout: str, number: int) -> Figures:
    """Delete the events and words of 0.4 % of the sessions, others in each round; return what a vacuum costs."""
    _use(layout)
    tables = [model._meta.db_table for model in KEYS]
    sessions = f"SELECT id FROM sessions_app_session WHERE mod(abs(hashtext(id::text)), 250) = {number}"
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # events are append-only
        for table in tables:
            cursor.execute(f"DELETE FROM {table} WHERE session_id IN ({sessions})")
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("CHECKPOINT")
    began = time.monotonic()
    with _clock() as spent:
        _execute(f"VACUUM {', '.join(tables)}")
    return {"vacuum, ms": spent(), "vacuum, ms of the clock": (time.monotonic() - began) * 1000}


@contextmanager
def _clock() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the milliseconds of CPU of this process and of PostgreSQL in the block."""
    before = time.process_time() + postgres_cpu_seconds()
    spent: list[float] = []
    yield lambda: spent[0]
    spent.append((time.process_time() + postgres_cpu_seconds() - before) * 1000)


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _row(statement: str, parameters: list[Any] | None = None) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()


def _value(statement: str, parameters: list[Any]) -> Any:
    return _row(statement, parameters)[0]
