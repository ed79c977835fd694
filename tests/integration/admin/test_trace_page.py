"""Contract: the trace of an invocation tells, from the log alone, what took how long, used and cost how much."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import JSONField, Value
from django.db.models.functions import Cast
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from sessions_app.models import Event, Invocation, Session
from tests.integration.admin.audit_rows import HOSTILE, START, append_event, make_job, page_of, read, sign_in
from tests.integration.admin.test_odd_events import TEXTS

pytestmark = pytest.mark.django_db

USED = {
    "promptTokenCount": 1000,
    "cachedContentTokenCount": 400,
    "thoughtsTokenCount": 7,
    "candidatesTokenCount": 50,
}
ANSWERED = {"modelVersion": "house-2.5-flash", "usageMetadata": USED}


def trace_of(session: Session, invocation_id: str = "e-1") -> str:
    url = reverse("admin:sessions_app_session_trace", args=[session.pk])
    return f"{url}?invocation={invocation_id}"


def call(name: str, call_id: str = "c-1", **args: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def response(name: str, call_id: str = "c-1") -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": {"result": 1}}}


def rows_of(html: str) -> list[str]:
    """Return the lines of the waterfall: kind, name, start, duration and so on."""
    lines = re.findall(r"<tr data-kind.*?</tr>", html, re.DOTALL)
    return [
        " ".join(re.sub("<[^>]*>", " ", line).split()).replace("&asymp;&nbsp;", "~").replace("&rarr;", "→")
        for line in lines
    ]


@pytest.fixture
def asked(session: Session) -> Session:
    """A session whose invocation waits 1 s for its turn, then calls a model, a tool, and the model again."""
    at = datetime.fromtimestamp(START, UTC)
    Invocation.objects.create(
        session=session, invocation_id="e-1", client_id="m-1", message={}, status="completed",
        created_at=at, started_at=at + timedelta(seconds=1), finished_at=at + timedelta(seconds=10),
    )  # fmt: skip
    append_event(session, {"text": "Is it broken?"}, author="user")  # 2.5 s
    append_event(session, call("look_up"), author="clerk", **ANSWERED)  # 5 s
    append_event(session, response("look_up"), author="clerk")  # 7.5 s
    append_event(session, {"text": "No."}, author="clerk", **ANSWERED)  # 10 s
    return session


def test_13_the_waterfall_shows_agent_model_and_tool_with_their_events(
    auditor: Client, asked: Session
) -> None:
    html = read(auditor, trace_of(asked))
    assert rows_of(html) == [
        "waits for its turn 0 ms 1.0 s",
        "agent clerk 2.5 s 7.5 s #2",
        "model house-2.5-flash 2.5 s ~2.5 s 1000 (400 cached) → 7 thoughts + 50 no price #2",
        "tool look_up 5.0 s 2.5 s #3",
        "model house-2.5-flash 7.5 s ~2.5 s 1000 (400 cached) → 7 thoughts + 50 no price #4",
    ]
    assert f'href="{page_of(asked)}?event=3#event-3"' in html
    assert "no price for house-2.5-flash" in html
    assert "style=" not in html and "<script" not in html.split("<main")[1]


def test_14_the_totals_are_the_sums_over_the_events(auditor: Client, asked: Session, settings: Any) -> None:
    settings.ADK = {**settings.ADK, "prices": {"house": {"input": 100, "cached_input": 50, "output": 1000}}}
    head = " ".join(read(auditor, trace_of(asked)).split())
    assert "<dd>2000 in (800 cached), 14 thoughts, 100 out</dd>" in head
    one = (600 * 100 + 400 * 50 + 57 * 1000) / 1_000_000
    assert re.search(rf"Cost</dt>\s*<dd>\s*{2 * one:.3g} ", head)
    assert sum(float(line.split()[-2]) for line in rows_of(head) if line.startswith("model")) == 2 * one


def test_agents_that_ran_as_tools_count_in_the_totals(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "Is it broken?"}, author="user")
    append_event(session, call("expert"), call("look_up", "c-2"), author="clerk", **ANSWERED)
    answers = response("expert"), response("look_up", "c-2")
    append_event(session, *answers, author="clerk", **ANSWERED)
    html = " ".join(read(auditor, trace_of(session)).split())
    lines = [line for line in rows_of(html) if line.startswith(("tool", "model"))]
    assert ["1000 (400 cached)" in line for line in lines] == [True, True, False]
    assert "<dd>2000 in (800 cached), 14 thoughts, 100 out</dd>" in html


def test_the_trace_shows_which_skill_was_read(auditor: Client, session: Session) -> None:
    answers: dict[str, dict[str, Any]] = {
        "c-1": {"skill_name": "invoices", "instructions": "Add."},
        "c-2": {"skill_name": "recipes", "error": "Skill 'recipes' not found."},
        "c-3": {"skill_name": "Not the name of a skill"},
        "c-4": {"skill_name": ["a"]},
    }
    append_event(session, {"text": "Is it paid?"}, author="user")
    append_event(session, *(call("our_load_skill", call_id) for call_id in answers), author="clerk")
    parts = [
        {"functionResponse": {"id": call_id, "name": "our_load_skill", "response": given}}
        for call_id, given in answers.items()
    ]
    nameless = {"functionResponse": {"id": None, "name": "load_skill", "response": {"skill_name": "a"}}}
    append_event(session, *parts, nameless, author="clerk")
    tools = [line for line in rows_of(read(auditor, trace_of(session))) if line.startswith("tool")]
    assert [line.split(" 2.5 s")[0] for line in tools] == [
        "tool our_load_skill invoices",
        *["tool our_load_skill"] * 3,
    ]


def test_spans_and_events_link_both_ways(auditor: Client, asked: Session) -> None:
    page = read(auditor, page_of(asked))
    assert f"{reverse('admin:sessions_app_session_trace', args=[asked.pk])}?invocation=e-1#span-3" in page
    assert 'id="span-3"' in read(auditor, trace_of(asked))


def test_the_invocation_links_to_its_trace_in_the_list_and_on_its_page(
    client: Client, asked: Session
) -> None:
    sign_in(client, "session", "invocation")
    invocation = Invocation.objects.get(session=asked)
    for name, args in (("changelist", []), ("change", [invocation.pk])):
        assert trace_of(asked) in read(client, reverse(f"admin:sessions_app_invocation_{name}", args=args))


def test_the_wait_for_a_person_is_apart_from_work_and_short_on_the_axis(
    auditor: Client, session: Session
) -> None:
    question = call("adk_request_confirmation", "q-1", originalFunctionCall={"name": "refund"})
    append_event(session, {"text": "Refund it"}, author="user")
    append_event(session, call("refund"), author="clerk", **ANSWERED)
    append_event(session, response("refund"), author="clerk")
    append_event(session, question, author="clerk", longRunningToolIds=["q-1"])
    later = {"timestamp": START + 86_400}
    append_event(session, response("adk_request_confirmation", "q-1"), author="user", **later)
    append_event(session, response("refund"), author="clerk", timestamp=START + 86_402)
    html = read(auditor, trace_of(session))
    assert rows_of(html)[-2:] == [
        "waits for an answer refund 7.5 s 23 h 59 min #5",
        "tool refund 23 h 59 min 2.0 s #6",
    ]
    widths = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="2" width="([\d.]+)"', html)]
    assert widths[-1] > widths[-2], "two seconds of work are longer than a day in which nothing works"


def test_the_wait_for_a_job_ends_with_its_answer_in_another_invocation(
    auditor: Client, session: Session
) -> None:
    append_event(session, call("report"), author="clerk", longRunningToolIds=["c-1"])
    append_event(session, response("report"), author="clerk")
    make_job(session, call_id="c-1")
    assert "waits for a job report 0 ms still waits #1" in rows_of(read(auditor, trace_of(session)))
    append_event(session, response("report"), author="user", invocationId="e-2")
    assert "waits for a job report 0 ms 5.0 s #3" in rows_of(read(auditor, trace_of(session)))


def test_parallel_agents_have_spans_of_their_own(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "Both, please"}, author="user")  # 2.5 s
    append_event(session, {"text": "Left."}, author="left", branch="both.left")  # 5 s
    append_event(session, {"text": "Right."}, author="right", branch="both.right")  # 7.5 s
    assert [line.rsplit("#")[0] for line in rows_of(read(auditor, trace_of(session)))] == [
        "agent left 0 ms 2.5 s ", "model 0 ms ~2.5 s ", "agent right 0 ms 5.0 s ", "model 0 ms ~5.0 s ",
    ]  # fmt: skip


def test_a_parallel_branch_stands_where_it_begins(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "Return it, please"}, author="user")  # 2.5 s
    append_event(session, {"text": "I look."}, author="clerk")  # 5 s
    append_event(session, {"text": "In stock."}, author="stock", branch="stock")  # 7.5 s
    append_event(session, {"text": "No fraud."}, author="fraud", branch="fraud")  # 10 s
    append_event(session, {"text": "Returned."}, author="clerk")  # 12.5 s
    assert [line.rsplit("#")[0] for line in rows_of(read(auditor, trace_of(session)))] == [
        "agent clerk 0 ms 10.0 s ", "model 0 ms ~2.5 s ",
        "agent stock 2.5 s 2.5 s ", "model 2.5 s ~2.5 s ",
        "agent fraud 2.5 s 5.0 s ", "model 2.5 s ~5.0 s ",
        "model 7.5 s ~2.5 s ",
    ]  # fmt: skip


def test_the_number_of_queries_does_not_grow(
    auditor: Client, asked: Session, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(2):
        with django_assert_num_queries(12):
            read(auditor, trace_of(asked))
        for number in range(40):
            append_event(asked, call("look_up", f"d-{number}"), author="clerk", **ANSWERED)
            append_event(asked, response("look_up", f"d-{number}"), author="clerk")


def test_an_invocation_of_many_events_is_cut_with_a_note(auditor: Client, session: Session) -> None:
    Event.objects.bulk_create(
        Event(session=session, seq=n, body={"invocationId": "e-1", "author": "clerk", "timestamp": START + n})
        for n in range(1, 600)
    )
    assert "has more events" in read(auditor, trace_of(session))


def test_events_of_odd_shape_are_shown_as_far_as_they_can_be_read(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "Hello"}, author="clerk", **ANSWERED)
    for seq, text in enumerate(TEXTS.values(), 2):
        body = Cast(Value(text), JSONField())
        # Not `create`: since Django 6 it reads the value of an expression.
        Event.objects.bulk_create([Event(session=session, seq=seq, body=body)])
    assert "house-2.5-flash" in read(auditor, trace_of(session))


def test_hostile_names_are_inert(auditor: Client, session: Session) -> None:
    hostile = {"modelVersion": f"{HOSTILE}\u202e", "errorCode": HOSTILE, "branch": HOSTILE}
    append_event(session, call(f"items{HOSTILE}\u202e"), author=HOSTILE, invocationId=HOSTILE, **hostile)
    append_event(session, response("items"), author=HOSTILE, invocationId=HOSTILE)
    html = read(
        auditor,
        reverse("admin:sessions_app_session_trace", args=[session.pk])
        + "?invocation="
        + HOSTILE.replace(" ", "+"),
    )
    assert HOSTILE not in html and "\u202e" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("invocation_id", ["", "e-2", "%ff", "x" * 5000])
def test_an_invocation_that_does_not_exist_is_not_found(
    auditor: Client, session: Session, invocation_id: str
) -> None:
    assert auditor.get(trace_of(session, invocation_id)).status_code == 404


def test_an_invocation_of_another_session_is_not_found(auditor: Client, asked: Session, person: User) -> None:
    other = Session.objects.create(app_name="help_desk", user=person, key="s-2")
    assert auditor.get(trace_of(other)).status_code == 404
