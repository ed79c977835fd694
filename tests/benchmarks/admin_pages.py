"""Pages of the admin on believable data: time on the server, number of queries, and tables read from end to end.

`BENCH_EVENTS` is the number of events, 20,000 unless it is set. With `BENCH_DATA_DIR` the data stays in a directory and
is made once: a million events take some minutes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from io import StringIO
from re import findall
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.urls import reverse

from sessions_app.admin.links import trace_url
from sessions_app.history.figures.batches import count_figures
from sessions_app.models import AnswerRequest, Event, Invocation, Session, SessionFigures
from sessions_app.process.threads import in_thread

RUNS = 3
MAX_SHOWN = 10
"""Slowest pages that have a line. Pages with a scan have one, too."""
BIG = 10_000
"""Rows of a table that a page may not read from end to end."""
SEARCHES = ("a", "order 1001", "refund", "look_up_order", "nobody-says-this")


@dataclass
class Page:
    """A page as it was measured.

    Attributes:
        milliseconds: CPU time of the process and time of the statements, the shortest of some runs.
        scans: tables that were read from end to end, with their rows.
    """

    url: str
    milliseconds: float = 0.0
    queries: int = 0
    scans: set[str] = field(default_factory=set)

    def line(self) -> str:
        """Return the measures as a line."""
        scans = ", ".join(sorted(self.scans)) or "no scan of a big table"
        return f"{self.milliseconds:5.0f} ms, {self.queries:2} queries, {scans}: {self.url}"


async def measure() -> list[str]:
    """Return a line for the data, and one for each of the slowest pages and of those with a scan."""
    return await in_thread(_measure)


def _measure() -> list[str]:
    if not Event.objects.exists():
        call_command(
            "adk_sample_data", events=int(os.environ.get("BENCH_EVENTS", "20000")), stdout=StringIO()
        )
        while count_figures(60):
            pass
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    client = Client(SERVER_NAME="localhost")
    user, _ = get_user_model().objects.get_or_create(username="auditor", is_staff=True, is_superuser=True)
    client.force_login(user)
    pages = [_measured(client, url) for url in _urls(client)]
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


def _measured(client: Client, url: str) -> Page:
    page = Page(url, milliseconds=min(_server_ms(client, url) for _ in range(RUNS)))
    with _explaining(page):
        response = client.get(url)
    if response.status_code != 200:
        page.scans.add(f"status {response.status_code}")
    return page


def _server_ms(client: Client, url: str) -> float:
    """Return the CPU time of a request and the time of its statements: other work on the machine hardly adds to it."""
    waited = 0.0

    def clock(execute: Callable[..., Any], *statement: Any) -> Any:
        nonlocal waited
        started, worked = time.perf_counter(), time.thread_time()
        try:
            return execute(*statement)
        finally:
            waited += time.perf_counter() - started - (time.thread_time() - worked)

    started = time.thread_time()
    with connection.execute_wrapper(clock):
        client.get(url)
    return (time.thread_time() - started + waited) * 1000


@contextmanager
def _explaining(page: Page) -> Iterator[None]:
    """Count the queries of the block, and look for tables that they read from end to end."""

    def explain(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        page.queries += 1
        if sql.lstrip("( \n").startswith(("SELECT", "WITH")):
            execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params, many, context)
            (plan,) = context["cursor"].fetchone()
            page.scans |= set(
                _scans(plan[0]["Plan"] if not isinstance(plan, str) else json.loads(plan)[0]["Plan"])
            )
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield


def _scans(node: Mapping[str, Any]) -> Iterator[str]:
    rows = (node.get("Actual Rows", 0) + node.get("Rows Removed by Filter", 0)) * node.get("Actual Loops", 1)
    if node["Node Type"] == "Seq Scan" and rows >= BIG:
        yield f"scan of {rows:.0f} rows of {node['Relation Name']}"
    for inner in node.get("Plans", ()):
        yield from _scans(inner)
