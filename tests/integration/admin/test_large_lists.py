"""Lists and searches of large tables: no page reads a table from end to end, and the work of a page is constant."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from io import StringIO
from itertools import product
from typing import Any

import psycopg
import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from sessions_app.admin.framework import keyset_list
from sessions_app.admin.framework.links import trace_url
from sessions_app.history import word_search
from sessions_app.history.figures.batches import count_figures
from sessions_app.history.figures.days import local_day
from sessions_app.models import Event, Failure, Invocation, LegalHold, Session
from sessions_app.store.erasing import delete_session_row
from tests.integration.admin.audit_rows import (
    append_event,
    create_one_of_each,
    list_url,
    make_job,
    page_of,
    read,
    sign_in,
)
from tests.read_rows import table_readings

pytestmark = pytest.mark.django_db
LARGE = ("session", "event", "invocation", "tooljob")
RECORDS = ("staffaccess", "staffact")
TABLES = [f"sessions_app_{name}" for name in (*LARGE, *RECORDS)]


@pytest.fixture
def staff(client: Client) -> Client:
    return sign_in(client, *LARGE, *RECORDS, "answerrequest", "failure", "dayfigure")


@pytest.fixture
def sample() -> None:
    call_command("adk_sample_data", events=400, stdout=StringIO())


def statements_of(client: Client, url: str) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        read(client, url)
    return [query["sql"] for query in queries if re.match(r"\(*(SELECT|WITH)\b", query["sql"])]


def plan_of(statement: str) -> str:
    """Return the plan of a table too large to read: on a small one PostgreSQL would not look at an index."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        # A bitmap needs a condition: without one the look-ups of a search would filter all rows in an index's order.
        cursor.execute(f"SET LOCAL enable_indexscan = {'off' if ' UNION ' in statement else 'on'}")
        cursor.execute("EXPLAIN " + statement.replace("%", "%%"))
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("SET LOCAL enable_seqscan = on")
        cursor.execute("SET LOCAL enable_indexscan = on")
    return plan


def queries() -> list[str]:
    session = Session.objects.filter(jobs__isnull=False)[0]
    event, job = session.events.get(seq=2), session.jobs.get()
    terms = ["a", "order", "order+1001", "look_up_order", session.key, event.event_id, event.invocation_id]
    searches = [f"?q={term}" for term in [*terms, job.call_id, session.user.get_username()]]
    last = Event.objects.order_by("-pk")[0]
    return [
        list_url("session"),
        *(list_url(model, search) for model in LARGE for search in searches),
        *(list_url(model, f"?q={term}") for model in RECORDS for term in ("nobody", "10.0.0.1")),
        list_url("event"),
        list_url("event", f"?p={last.pk}"),
        list_url("event", "?kind=error"),
        list_url("event", "?kind=state"),
        list_url("event", "?session__app_name=shop"),
        list_url("invocation"),
        list_url("invocation", "?status__exact=failed"),
        list_url("tooljob"),
        list_url("tooljob", "?tool_name=write_report"),
        list_url("tooljob", "?status__exact=failed"),
        list_url("tooljob", "?worker_lost=yes"),
        list_url("answerrequest"),
        list_url("failure"),
        list_url("dayfigure"),
        reverse("admin:index"),
        list_url("session", "?app_name=shop"),
        list_url("session", "?status=failed"),
        list_url("session", "?with_errors=on"),
        list_url("session", "?tokens_above=9000"),
        list_url("session", "?cost_above=1"),
        *(list_url("session", f"?o={order}") for order in ("7", "-7", "8", "-8")),  # tokens and cost
        page_of(session),
        *(page_of(session, query) for query in ("?at=7", "?view=person", "?q=order", "?failed=on")),
        trace_url(session.pk, event.invocation_id),
        reverse("admin:sessions_app_tooljob_change", args=[job.pk]),
    ]


def test_no_list_of_the_audit_counts_its_rows_or_skips_pages(admin_client: Client, session: Session) -> None:
    create_one_of_each(session, session.user)
    models = {
        model._meta.model_name for model in admin.site._registry if model._meta.app_label == "sessions_app"
    }
    # Rows for each app, group or person: their pages skip.
    few = {"apikey", "appstate", "knowledgebase", "remit", "webhook"}
    for model in models - {"dayfigure"}:  # the overview
        for statement in statements_of(admin_client, list_url(str(model))):
            assert "COUNT(" not in statement, (model, statement)
            assert model in few or "OFFSET" not in statement, (model, statement)


def test_the_exceptions_of_a_day_are_found_by_their_time(client: Client) -> None:
    sign_in(client, "session", rights=("view_text", "view_error_detail"))
    day = "?at__gte=2026-11-21+00%3A00%3A00%2B00%3A00&at__lt=2026-11-22+00%3A00%3A00%2B00%3A00"
    statements = [
        statement
        for statement in statements_of(client, list_url("callerror", day))
        if 'FROM "sessions_app_callerror"' in statement
    ]
    assert statements
    for statement in statements:
        assert "using call_error_by_time" in plan_of(statement), statement


OTHER_LISTS = ("auth_user", "auth_group", "axes_accessattempt")


@pytest.mark.parametrize("name", OTHER_LISTS)
def test_the_lists_of_users_and_groups_are_not_counted(admin_client: Client, name: str) -> None:
    User.objects.create_user("ada")
    for query in ("", "?q=ada", "?o=1"):
        for statement in statements_of(admin_client, reverse(f"admin:{name}_changelist") + query):
            assert "COUNT(" not in statement, statement


def test_the_pages_of_users_have_each_user_once_in_the_chosen_order(admin_client: Client) -> None:
    User.objects.bulk_create(User(username=f"u-{n:03d}", email=f"{999 - n}@x.example") for n in range(229))
    users = reverse("admin:auth_user_changelist")
    seen: list[str] = []
    for page in (1, 2, 3):
        html = read(admin_client, f"{users}?o=2&p={page}")  # by mail address
        seen += re.findall(r"/user/(\d+)/change/", html.split('id="result_list"', 1)[1])
        links = re.findall(r'<a href="(\?[^"]*)"(?: rel="next")?>(First|Next) page', html)
        assert [words for _, words in links] == ["First"] * (page > 1) + ["Next"] * (page < 3)
    assert seen == [str(pk) for pk in User.objects.order_by("email").values_list("pk", flat=True)]
    for odd in ("0", "-1", "4", "9" * 40, "x", "%00"):
        assert admin_client.get(f"{users}?p={odd}", follow=True).status_code in (200, 400), odd


def test_an_action_takes_rows_of_one_page(admin_client: Client) -> None:
    Group.objects.bulk_create(Group(name=f"g-{n:03d}") for n in range(101))
    actions = read(admin_client, reverse("admin:auth_group_changelist")).split('<div class="actions">', 1)[1]
    assert "0 of 100 selected" in actions
    assert "All " not in actions.split("</form>", 1)[0], "rows of other pages can be chosen"


def test_a_search_without_filters_looks_for_the_words_once(staff: Client, session: Session) -> None:
    append_event(session, {"text": "a lamp"})
    for model in ("session", "event"):
        found = statements_of(staff, list_url(model, "?q=lamp"))
        looked = [one for one in found if "@@" in one and "sessions_app_event" in one]
        assert len(looked) == 1, looked


@pytest.mark.usefixtures("sample")
def test_06_no_list_search_or_page_reads_a_large_table_from_end_to_end(staff: Client) -> None:
    read(staff, list_url("session"))  # loads what Django keeps
    for url in queries():
        for statement in statements_of(staff, url):
            plan = plan_of(statement)
            scanned = [table for table in TABLES if re.search(rf"Seq Scan on {table}\b", plan)]
            assert not scanned, (url, statement, plan)
            if "session_id" not in statement:
                assert "COUNT(" not in statement, (url, statement)


@pytest.mark.parametrize("model", LARGE)
def test_the_number_of_queries_of_a_search_does_not_grow(staff: Client, person: User, model: str) -> None:
    def make(key: str) -> None:
        session = Session.objects.create(app_name="shop", user=person, key=key, title="A lamp")
        append_event(session, {"text": "a lamp"})
        Invocation.objects.create(
            session=session, invocation_id=key, client_id=key, message={}, error_message="no lamp"
        )
        make_job(session, error="no lamp")

    counts = []
    for n in range(4):
        make(f"s-{n}")
        counts.append(len(statements_of(staff, list_url(model, "?q=lamp"))))
    assert len(set(counts[1:])) == 1
    assert counts[-1] <= 16


LONG_TEXT = "The lamp stands on the desk beside the window. " * 10


def fill(session: Session, count: int) -> None:
    """Append events with a text and, each tenth, a call, in one statement."""
    call = {"functionCall": {"id": "c", "name": "look_up", "args": {"note": LONG_TEXT}}}
    events = []
    for seq in range(1, count + 1):
        parts = [{"text": LONG_TEXT}, *([call] if seq % 10 == 0 else [])]
        body = {
            "id": f"id-{seq}",
            "invocationId": f"e-{seq // 20}",
            "author": "clerk",
            "timestamp": seq * 1.0,
        }
        events.append(Event(session=session, seq=seq, body={**body, "content": {"parts": parts}}))
    Event.objects.bulk_create(events)
    Session.objects.filter(pk=session.pk).update(last_seq=count, updated_at=Now())


def all_pages(client: Client, model: str, term: str) -> list[str]:
    """Return the pages of a search, each of which must be shown; the last says that the search is complete."""
    url = list_url(model, f"?q={term.replace(' ', '+')}")
    pages = []
    while url:
        pages.append(read(client, url))
        following = re.search(r'<a href="(\?[^"]*)" rel="next">Continue the search', pages[-1])
        url = list_url(model, unescape(following[1])) if following else ""
    return pages


def test_no_search_fails_at_a_session_of_10_000_events_without_the_word(
    staff: Client, session: Session, person: User
) -> None:
    older = Session.objects.create(app_name="shop", user=person, key="s-1", title="Older")
    append_event(older, {"text": "a zebra"})
    fill(session, 10_000)
    # Before the words are in the index, the events are read.
    for model in ("session", "event"):
        pages = all_pages(staff, model, "lamp zebra")
        assert len(pages) < 20 and f"/{session.pk}/change/" not in "".join(pages), model
    while count_figures(60):
        pass
    found = {
        (model, term): (f"/{session.pk}/change/" in html, f"/{older.pk}/change/" in html)
        for model, term in product(("session", "event"), ("zeppelin", "zebra", "lamp", "lamp zebra"))
        for html in ["".join(all_pages(staff, model, term))]
    }
    shown = {
        "zeppelin": (False, False),
        "zebra": (False, True),
        "lamp": (True, False),
        "lamp zebra": (False, False),
    }
    assert found == {(model, term): shown[term] for model, term in found}
    for model, term in product(("invocation", "tooljob", *RECORDS), ("zeppelin", "lamp zebra")):
        assert len(all_pages(staff, model, term)) == 1, (model, term)
    for query in ("?q=zeppelin", "?q=lamp+zebra", "?q=lamp", "?page=50"):
        html = read(staff, page_of(session, query))
        columns = html.count('class="audit-minimap-room"')
        assert 100 <= columns <= 120, (query, columns)


def test_words_are_found_and_not_their_parts_and_the_hit_is_marked(staff: Client, session: Session) -> None:
    append_event(session, {"text": "Where is my order 1001 & more?"}, author="user")
    other = Session.objects.create(app_name="shop", user=session.user, key="s-2", title="Boots")
    append_event(other, {"text": "Orders 1010 to 1019"}, author="user")
    for model in ("session", "event"):
        html = read(staff, list_url(model, "?q=order+1001"))
        assert str(session.pk) in html and str(other.pk) not in html, model
        assert "<mark>order</mark> <mark>1001</mark> &amp; more" in html, model
        assert str(other.pk) not in read(staff, list_url(model, "?q=100")), model
    assert "<mark>" not in read(staff, list_url("session", "?q=lamp"))
    assert str(other.pk) in read(staff, list_url("session", "?q=+"))  # blanks are no search


@pytest.mark.parametrize("model", LARGE)
def test_the_pages_of_a_list_have_each_row_once(staff: Client, person: User, model: str) -> None:
    session = Session.objects.create(app_name="shop", user=person, key="s-0")
    for _ in range(230):
        append_event(session, {"text": "x"})
    Session.objects.bulk_create(Session(app_name="a", user=person, key=f"k-{n}") for n in range(229))
    Invocation.objects.bulk_create(
        Invocation(session=session, invocation_id=f"e-{n}", client_id=f"m-{n}", message={})
        for n in range(230)
    )
    for n in range(230):
        make_job(session, call_id=f"c-{n}")
    seen: list[str] = []
    url = list_url(model)
    pages = 0
    while url:
        html = read(staff, url)
        results = html.split('id="result_list"', 1)[1].split("</table>", 1)[0]
        pattern = r"event=(\d+)#" if model == "event" else rf"/{model}/([^/]+)/change/[^\"]*\">(?!<bdi>)"
        seen += re.findall(pattern, results)
        later = re.search(r'<a href="(\?[^"]*)" rel="next">', html)
        url = list_url(model, later[1].replace("&amp;", "&")) if later else ""
        pages += 1
    assert pages == 3
    assert len(seen) == len(set(seen)) == 230


FAR_EAST = "2024-01-01T00:00:00%2B23:59~0197b0a2-7c1e-7d42-9d1c-0d2a6c1f3b58"
"""A position with an offset from UTC that Python reads and PostgreSQL does not."""


@pytest.mark.parametrize("position", ["x", "~", "1~2~3", "9" * 40, "%F0%9F%92%A1", FAR_EAST])
@pytest.mark.parametrize("model", LARGE)
def test_a_broken_position_leads_to_the_first_page(staff: Client, model: str, position: str) -> None:
    response = staff.get(list_url(model, f"?p={position}"), follow=True)
    assert response.status_code == 200


def test_a_list_of_a_day_reads_no_newer_invocations(staff: Client, sample: None) -> None:
    url = list_url("invocation", "?created_at__gte=2020-01-01T00:00Z&created_at__lt=2020-01-02T00:00Z")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_invocation")
    (statement,) = (sql for sql in statements_of(staff, url) if "2020-01-01" in sql)
    assert "invocation_by_time" in plan_of(statement)


def test_the_first_page_reads_failed_invocations_alone(staff: Client, sample: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_invocation")
    statements = statements_of(staff, reverse("admin:index"))
    (failed,) = (sql for sql in statements if 'invocation"."status" = \'failed\'' in sql)
    plan = plan_of(failed)
    assert "invocation_not_completed" in plan and "Sort" not in plan


def rows_read(statement: str, table: str) -> int:
    """Return the number of rows of a table that a part of the plan reads, with an index where there is one."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement.replace("%", "%%"))
        (plan,) = cursor.fetchone()
        cursor.execute("SET LOCAL enable_seqscan = on")
    readings = table_readings(plan[0]["Plan"])
    return max((reading.rows for reading in readings if reading.table == table), default=0)


def test_lists_and_searches_of_errors_read_no_more_rows_when_there_are_more(
    staff: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(130):
        append_event(session, {"text": "a lamp"})
        append_event(session, {"text": "no lamp"}, errorCode="OVERLOADED")
    monkeypatch.setattr(word_search, "OTHER_FIRST_SLICE", 20)
    monkeypatch.setattr(word_search, "SEARCH_SECONDS", 0)
    for query, recent in (("?kind=error&q=lamp", (30, 36)), ("?kind=error", (110, 120))):
        monkeypatch.setattr(keyset_list, "RECENT_ROWS", recent)
        statements = [sql for sql in statements_of(staff, list_url("event", query)) if "'error'" in sql]
        assert statements, query
        for statement in statements:
            assert rows_read(statement, "sessions_app_event") <= recent[0], statement


def test_the_page_of_failures_reads_no_more_rows_of_old_days_when_there_are_more(
    staff: Client, session: Session
) -> None:
    ages = [0, *range(31, 131)]
    for cause in ("Order # is closed.", "No paper"):
        Failure.objects.bulk_create(
            Failure(session=session, seq=1, day=local_day() - timedelta(days=age), cause=cause)
            for age in ages
        )
    statements = [sql for sql in statements_of(staff, list_url("failure")) if "No paper" in sql]
    assert len(statements) == 1, statements
    assert rows_read(statements[0], "sessions_app_failure") == 1
    first = date_format(local_day() - timedelta(days=130), "j M Y")
    assert read(staff, list_url("failure")).count(first) >= 2


def test_a_statement_that_takes_too_long_ends_with_a_sentence(staff: Client, settings: Any) -> None:
    settings.ADK = {**settings.ADK, "audit_statement_seconds": 0.2}
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as rival:
        rival.execute("LOCK TABLE sessions_app_session")
        response = staff.get(list_url("session"))
    assert response.status_code == 503
    html = response.content.decode()
    assert "stopped after 0.2 seconds" in html and "Narrow the search" in html
    assert staff.get(list_url("session")).status_code == 200


def test_the_sample_data_are_the_same_for_the_same_seed_and_refused_outside_of_development(
    settings: Any,
) -> None:
    settings.DEV = False
    with pytest.raises(CommandError, match="not in development"):
        call_command("adk_sample_data", events=10)
    settings.DEV = True
    made = []
    for seed in (7, 7, 8):
        call_command("adk_sample_data", events=50, seed=seed, stdout=StringIO())
        call_command("adk_verify", stdout=StringIO())
        bodies = Event.objects.order_by("session", "seq").values_list("body__content", flat=True)
        made.append(list(bodies))
        # Lists in the order of the time would show what really happens below rows of the evening.
        assert not Event.objects.filter(happened_at__gt=timezone.now()).exists()
        for made_session in Session.objects.all():
            delete_session_row(Session.objects.filter(pk=made_session.pk))
    assert made[0] == made[1] != made[2]
    assert len(made[0]) == 50


def test_a_filter_by_the_presence_of_a_value_has_words_of_its_field(
    admin_client: Client, session: Session
) -> None:
    held, lifted = (LegalHold.objects.create(session=session, reason="A court asked.") for _ in range(2))
    LegalHold.objects.filter(pk=lifted.pk).update(lifted_at=Now())
    html = read(admin_client, list_url("legalhold"))
    choices = dict(re.findall(r'<a href="\?lifted_at__isempty=(\d)">\s*(.*?)</a>', html))
    assert choices == {"1": "In force", "0": "Lifted"}
    for choice, shown, hidden in (("1", held, lifted), ("0", lifted, held)):
        html = read(admin_client, list_url("legalhold") + f"?lifted_at__isempty={choice}")
        assert f"legalhold/{shown.pk}/change/" in html and f"legalhold/{hidden.pk}/change/" not in html
