"""Pages of the admin on believable data: CPU time, number of queries, and long readings of big tables.

`BENCH_EVENTS` is the number of events, 20,000 unless it is set. With `BENCH_DATA_DIR` the data stays in a directory and
is made once: a million events take some minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from io import StringIO
from pathlib import Path
from re import findall
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.urls import reverse

from sessions_app.admin.framework.links import trace_url
from sessions_app.history.figures.batches import count_figures
from sessions_app.models import AnswerRequest, Event, Invocation, Session, SessionFigures
from sessions_app.process.threads import in_thread
from tests.read_rows import table_readings

RUNS = 3
MAX_SHOWN = 10
"""Slowest pages that have a line. Pages with a scan have one, too."""
BIG = 20_000
"""Rows that one part of a plan may read: the largest constant bound of a page, whatever the size of the table."""
SEARCHES = ("a", "order 1001", "refund", "look_up_order", "nobody-says-this")


@dataclass
class Page:
    """A page as it was measured.

    Attributes:
        milliseconds: CPU time of the process and of PostgreSQL, the shortest of some runs.
        sql_milliseconds: the part of PostgreSQL.
        scans: big tables of which much was read, with the rows.
    """

    url: str
    milliseconds: float = 0.0
    sql_milliseconds: float = 0.0
    queries: int = 0
    scans: set[str] = field(default_factory=set)

    def line(self) -> str:
        """Return the measures as a line."""
        scans = ", ".join(sorted(self.scans)) or "no long reading of a table"
        time = f"{self.milliseconds:5.0f} ms, {self.sql_milliseconds:.0f} of them in PostgreSQL"
        return f"{time}, {self.queries:2} queries, {scans}: {self.url}"


async def measure() -> list[str]:
    """Return a line for the data, and one for each of the slowest pages and of those with a scan."""
    return await in_thread(_measure)


def make_data() -> None:
    """Make conversations and count their figures, unless there are any."""
    if not Event.objects.exists():
        events = int(os.environ.get("BENCH_EVENTS", "20000"))
        call_command("adk_sample_data", events=events, connections=2, stdout=StringIO())
        while count_figures(60):
            pass
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def signed_in(name: str) -> Client:
    """Return a client of a superuser of this name."""
    rights = {"is_staff": True, "is_superuser": True}
    user, _ = get_user_model().objects.update_or_create(username=name, defaults=rights)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    return client


def _measure() -> list[str]:
    make_data()
    client = signed_in("auditor")
    pages = [measured(client, url) for url in _urls(client)]
    pages.sort(key=lambda page: -page.milliseconds)
    shown = [page for number, page in enumerate(pages) if number < MAX_SHOWN or page.scans]
    heading = (
        f"{len(pages)} pages of the admin with {Event.objects.count()} events in {Session.objects.count()} sessions, "
        f"at most {max(page.queries for page in pages)} queries; the slowest:"
    )
    return [heading, *(page.line() for page in shown)]


def _urls(client: Client) -> Iterator[str]:
    """Yield the addresses of the pages: first page and costs, sessions, one call, and all lists with each filter."""
    yield reverse("admin:index")
    yield reverse("admin:sessions_app_dayfigure_costs")
    long = Session.objects.order_by("-last_seq")[0]
    costly = SessionFigures.objects.order_by(F("cost").desc(nulls_last=True))[0].session
    for session in {long, costly}:
        page = reverse("admin:sessions_app_session_change", args=[session.pk])
        yield from (
            page + query for query in ("", "?view=person", "?view=raw", "?at=5", "?q=order", "?failed=on")
        )
        for invocation in Invocation.objects.filter(session=session)[:1]:
            yield trace_url(session.pk, invocation.invocation_id)
    for request in AnswerRequest.objects.open()[:1]:
        yield reverse("admin:sessions_app_answerrequest_change", args=[request.pk])
    for model in admin.site._registry:
        if model._meta.app_label == "sessions_app":
            url = reverse(f"admin:sessions_app_{model._meta.model_name}_changelist")
            yield url
            html = client.get(url).content.decode()
            yield from sorted({url + unescape(query) for query in findall(r'href="(\?[^"]+)"', html)})
            if 'name="q"' in html:
                yield from (f"{url}?q={words}" for words in SEARCHES)


def measured(client: Client, url: str) -> Page:
    """Return the measures of a page for the user of the client."""
    page = Page(url)
    page.milliseconds, page.sql_milliseconds = min(_cpu_of(client, url) for _ in range(RUNS))
    with _explaining(page):
        response = client.get(url)
    if response.status_code != 200:
        page.scans.add(f"status {response.status_code}")
    return page


def _cpu_of(client: Client, url: str) -> tuple[float, float]:
    """Return the CPU time of a request, and the part of PostgreSQL. Other work on the machine hardly adds to it."""
    connection.ensure_connection()
    clock = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    began, began_sql = time.thread_time(), clock.read_text()
    client.get(url)
    seconds = time.thread_time() - began
    # Linux counts the CPU time of PostgreSQL's process in nanoseconds; psutil would round to hundredths of a second.
    sql_seconds = (int(clock.read_text().split()[0]) - int(began_sql.split()[0])) / 1e9
    return (seconds + sql_seconds) * 1000, sql_seconds * 1000


@contextmanager
def _explaining(page: Page) -> Iterator[None]:
    """Count the queries of the block, and look for long readings of big tables."""

    def explain(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        page.queries += 1
        if sql.lstrip("( \n").startswith(("SELECT", "WITH")):
            execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params, many, context)
            (plan,) = context["cursor"].fetchone()
            for reading in table_readings(plan[0]["Plan"]):
                if reading.rows > BIG:
                    page.scans.add(f"{reading.kind} of {reading.rows} rows of {reading.table}")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield
