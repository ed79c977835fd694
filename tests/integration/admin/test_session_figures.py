"""List of sessions with figures: columns, filters that are in the URL, and the export of what is filtered."""

from __future__ import annotations

import asyncio
import csv
import json
import re
from datetime import timedelta
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from sessions_app.admin.framework import keyset_list
from sessions_app.admin.session import export as session_export
from sessions_app.admin.session.session_admin import SessionAdmin
from sessions_app.history.figures.batches import count_figures
from sessions_app.history.figures.days import local_day
from sessions_app.models import DayFigure, Invocation, Session, SessionFigures
from tests.integration.admin.audit_rows import append_event, list_url, read
from tests.integration.admin.test_large_lists import statements_of

pytestmark = pytest.mark.django_db(transaction=True)
USAGE = {"promptTokenCount": 1200, "candidatesTokenCount": 34}


@pytest.fixture(autouse=True)
def prices(settings: Any) -> None:
    settings.ADK = {**settings.ADK, "prices": {"small": {"input": 1_000.0, "output": 1_000.0}}}


@pytest.fixture
def exporter(auditor: Client) -> Client:
    staff = User.objects.get(username="staff")
    staff.user_permissions.add(Permission.objects.get(codename="export_data"))
    return auditor


def make(
    person: User, key: str, *, tool: str = "refund", app: str = "shop", status: str = "completed"
) -> Session:
    session = Session.objects.create(app_name=app, user=person, key=key, title=key)
    answer = {
        "functionResponse": {
            "id": "c",
            "name": tool,
            "response": {"error": "no"} if status == "failed" else {},
        }
    }
    append_event(session, {"text": "Please"}, author="user")
    append_event(session, answer, author=f"{app}_clerk", modelVersion="small", usageMetadata=USAGE)
    Invocation.objects.create(
        session=session, invocation_id=f"e-{key}", client_id="m", message={}, status=status
    )
    return session


@pytest.fixture
def sessions(person: User) -> None:
    other = User.objects.create_user("bob")
    make(person, "s-refund")
    make(person, "s-report", tool="write_report", app="travel")
    make(other, "s-failed", status="failed")
    make(other, "s-waiting", status="waiting")
    old = Session.objects.create(app_name="shop", user=other, key="s-old")
    Session.objects.filter(pk=old.pk).update(updated_at=timezone.now() - timedelta(days=40))
    while count_figures(10):
        pass
    DayFigure.objects.update(day=local_day())  # the names of the last 90 days are offered as filters


def body_of(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200

    async def join() -> str:
        return b"".join([chunk async for chunk in response]).decode()  # type: ignore[attr-defined]

    return asyncio.run(join())


def exported(client: Client, query: str = "") -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in body_of(client, f"/admin/sessions_app/session/export.jsonl{query}").splitlines()
    ]


@pytest.mark.usefixtures("sessions")
def test_the_list_has_tokens_cost_errors_runtime_and_tools(auditor: Client) -> None:
    html = read(auditor, list_url("session", "?status=failed"))
    shown = {
        name: html.split(f'class="field-{name}">')[1].split("<")[0]
        for name in ("tokens", "cost", "errors", "tools")
    }
    assert shown == {"tokens": "1,234", "cost": "1.23", "errors": "1", "tools": "refund"}


FILTERS = [
    ("?app_name=travel", "report"), ("?user=bob", "failed waiting old"), ("?agent=travel_clerk", "report"),
    ("?tool=refund", "refund failed waiting"), ("?status=failed", "failed"), ("?status=waiting", "waiting"),
    ("?tool=refund&status=failed&user=bob", "failed"), ("?tool=refund&user=ada&agent=shop_clerk", "refund"),
    ("?cost_above=1.2", "refund report failed waiting"), ("?cost_above=1.3", ""),
    ("?cost_above=", "refund report failed waiting old"),
    ("?tokens_above=1233", "refund report failed waiting"), ("?tokens_above=1234", ""),
    ("?tokens_above=9999999999999999999999", ""), ("?tokens_above=-1", ""), ("?tokens_above=many", ""),
    ("?with_errors=on", "failed"), ("?with_errors=on&user=ada", ""),
    ("?tool=nothing", ""), ("?until=2000-01-01", ""), ("?since=9999-12-31", ""),
    ("?until=0001-01-01&since=0001-01-01", ""), ("?until=9999-12-31", "refund report failed waiting old"),
    ("?since=yesterday", ""),
    ("?cost_above=-1", ""),
    ("?cost_above=nan", ""),
]  # fmt: skip
"""Query strings, each with the sessions that it finds."""


@pytest.mark.usefixtures("sessions")
def test_each_filter_is_in_the_url_and_an_invalid_one_finds_nothing(
    exporter: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for query, found in FILTERS:
        keys = {f"s-{name}" for name in found.split()}
        for recent in ((2_000,), (1,)):  # among the newest rows, and by the index of rare matches
            monkeypatch.setattr(keyset_list, "RECENT_ROWS", recent)
            assert {row["key"] for row in exported(exporter, query)} == keys, query
        html = read(exporter, list_url("session", query))
        all_keys = ("s-refund", "s-report", "s-failed", "s-waiting", "s-old")
        assert {key for key in all_keys if f">{key}</a>" in html} == keys, query


@pytest.mark.usefixtures("sessions")
def test_dates_are_those_of_the_last_event_the_last_day_included(exporter: Client) -> None:
    Session.objects.filter(key="s-old").update(updated_at="2026-10-05T23:59:59Z")
    for query in ("?since=2026-10-05&until=2026-10-05", "?until=2026-10-05"):
        assert [row["key"] for row in exported(exporter, query)] == ["s-old"], query
    assert "s-old" not in {row["key"] for row in exported(exporter, "?since=2026-10-06")}


@pytest.mark.usefixtures("sessions")
def test_the_form_keeps_the_other_filters_and_says_what_is_wrong(auditor: Client) -> None:
    html = read(auditor, list_url("session", "?tool=%22><script>&since=yesterday&q=please"))
    assert '<input type="hidden" name="q" value="please">' in html
    assert 'name="tool" value="&quot;&gt;&lt;script&gt;"' in html and "Enter a valid date." in html


def test_an_exported_cell_is_never_a_formula(exporter: Client, person: User) -> None:
    for n, title in enumerate(("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", 'a "b", c\nd')):
        Session.objects.create(app_name="shop", user=person, key=f"{n}", title=title)
    head, *rows = csv.reader(StringIO(body_of(exporter, "/admin/sessions_app/session/export.csv")))
    titles = {row[head.index("key")]: row[head.index("title")] for row in rows}
    assert list(titles.values())[::-1] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", 'a "b", c\nd']


def test_secrets_in_titles_and_names_are_masked_in_an_export(exporter: Client, person: User) -> None:
    secret = "api_key=geheim1234"
    session = Session.objects.create(app_name="shop", user=person, key=secret, title=secret)
    labels = [f"{kind}:{secret}" for kind in ("agent", "tool", "outcome")]
    SessionFigures.objects.create(session=session, labels=labels)
    assert "geheim1234" not in str(exported(exporter))


def test_an_export_reads_page_by_page_and_has_each_session_once(
    exporter: Client, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_export, "ROWS_PER_PAGE", 10)
    Session.objects.bulk_create(Session(app_name="shop", user=person, key=f"k-{n:02}") for n in range(25))
    response = exporter.get("/admin/sessions_app/session/export.jsonl")

    async def pages() -> list[int]:
        return [chunk.count(b"\n") async for chunk in response]  # type: ignore[attr-defined]

    assert asyncio.run(pages()) == [0, 10, 10, 5]
    assert len({row["id"] for row in exported(exporter)}) == 25


def cells(page: str, column: str) -> list[str]:
    return re.findall(f'<td class="field-{column}[^"]*">([^<]*)</td>', page)


def column_number(page: str, column: str) -> str:
    return str(re.findall(r'class="[^"]*column-(\w+)', page).index(column))


@pytest.mark.parametrize("column", ["tokens", "cost"])
def test_the_list_is_sorted_by_tokens_and_cost_page_by_page(
    auditor: Client, person: User, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    monkeypatch.setattr(SessionAdmin, "list_per_page", 4)
    amounts = [7, 0, 3, 3, 3, 3, 3, 9, 0, 120, 1]
    made = Session.objects.bulk_create(
        Session(app_name="shop", user=person, key=f"k-{n:02}") for n, _ in enumerate(amounts)
    )
    SessionFigures.objects.bulk_create(
        SessionFigures(session=session, tokens=amount, cost=amount)
        for session, amount in zip(made, amounts, strict=True)
    )
    Session.objects.create(app_name="shop", user=person, key="not-counted-yet")
    number = column_number(read(auditor, list_url("session")), column)
    for direction, is_descending in (("", True), ("-", False)):
        query = f"?app_name=shop&o={direction}{number}"
        keys: list[str] = []
        while query:
            page = read(auditor, list_url("session", query))
            keys += re.findall(r"k-\d\d(?=</a>)", page)
            next_page = re.search(r'<a href="([^"]*)" rel="next">Next page', page)
            query = unescape(next_page[1]) if next_page else ""
        expected = sorted(made, key=lambda row: (row.figures.cost, row.pk), reverse=is_descending)
        assert keys == [session.key for session in expected]


def test_an_order_by_another_column_or_an_odd_position_is_refused_or_ignored(
    auditor: Client, person: User
) -> None:
    make(person, "s-1")
    count_figures(10)
    number = column_number(read(auditor, list_url("session")), "cost")
    for order in ("0", "3", "99", "x", "-", "7.8.9", "9" * 40):
        assert "s-1" in read(auditor, list_url("session", f"?o={order}")), order
    for position in ("x", "1", "1~x", "nan", "~", "1~2~3"):
        assert auditor.get(list_url("session", f"?o={number}&p={position}")).status_code == 302, position


def test_only_staff_with_the_permission_see_and_get_the_export(auditor: Client) -> None:
    assert "export.csv" not in read(auditor, list_url("session"))
    assert auditor.get("/admin/sessions_app/session/export.csv").status_code == 403
    User.objects.get(username="staff").user_permissions.set(Permission.objects.filter(codename="export_data"))
    assert auditor.get("/admin/sessions_app/session/export.csv").status_code == 403


@pytest.mark.usefixtures("sessions")
def test_an_export_without_the_right_to_texts_has_no_titles_and_no_search(exporter: Client) -> None:
    staff = User.objects.get(username="staff")
    staff.user_permissions.remove(Permission.objects.get(codename="view_text"))
    assert {row["title"] for row in exported(exporter)} == {""}
    assert exporter.get("/admin/sessions_app/session/export.jsonl?q=please").status_code == 403


def test_an_export_with_an_unknown_filter_is_refused(exporter: Client) -> None:
    assert exporter.get("/admin/sessions_app/session/export.csv?user__password=x").status_code == 400


def test_the_number_of_queries_of_a_filtered_list_does_not_grow(auditor: Client, person: User) -> None:
    counts = []
    for n in range(4):
        make(person, f"s-{n}")
        while count_figures(10):
            pass
        counts.append(len(statements_of(auditor, list_url("session", "?tool=refund&cost_above=0"))))
    assert len(set(counts[1:])) == 1 and counts[-1] <= 12
