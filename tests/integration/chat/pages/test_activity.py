"""Contract: the activity has what runs, waits and comes in the sessions of one person, in a fixed number of queries."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from runtime.events.calls import REMOTE_INPUT
from sessions_app.models import AnswerRequest, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.sessions.list.activity import MAX_ROWS
from sessions_app.sessions.list.listing import with_activity
from tests.integration.chat.pages.page_helpers import add_event, page

STAFF = "staff:sessions_app.approve_answerrequest"
LOGIN_QUERIES = 2  # Django's session and the user
EMPTY: dict[str, list[str]] = {
    "Waiting for you": [], "Waiting for staff": [], "Running": [], "Scheduled": []
}  # fmt: skip
QUESTION = {
    "text": "Go <b>ahead</b>?",
    "kind": "confirm",
    "options": [],
    "asked_at": "2026-11-21T12:00:00+00:00",
}


def make(person: User, title: str, **fields: Any) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key=title, title=title, **fields)


def add_invocation(session: Session, status: str, number: int = 1) -> Invocation:
    ids = {"invocation_id": f"e-{number}-{session.pk}", "client_id": str(number)}
    return Invocation.objects.create(session=session, status=status, message={}, **ids)


def add_request(invocation: Invocation, answered_by: str, number: int = 1) -> None:
    AnswerRequest.objects.create(
        session=invocation.session, invocation_id=invocation.invocation_id, call_id=f"c{number}",
        kind="confirmation", tool_name="refund", answered_by=answered_by, asked_at=timezone.now(),
    )  # fmt: skip


def add_job(session: Session, status: str, number: int = 1, **fields: Any) -> ToolJob:
    ids = {"invocation_id": f"e-{number}-{session.pk}", "call_id": f"c{number}", "task_name": "t"}
    values = {"tool_name": "write_report", **ids, **fields}
    job = ToolJob.objects.create(session=session, status=status, **values)
    if status == "waiting":
        AnswerRequest.objects.create(
            session=session, job=job, invocation_id=job.invocation_id, call_id=job.call_id, kind="question",
            tool_name=job.tool_name, answered_by="person", asked_at=timezone.now(),
        )  # fmt: skip
    return job


def add_call(session: Session, name: str, args: dict[str, Any], number: int = 1) -> None:
    """Store a waiting call, its invocation and its request."""
    call = {"functionCall": {"id": f"c{number}", "name": name, "args": args}}
    invocation = add_invocation(session, "waiting", number)
    ids: dict[str, Any] = {
        "invocationId": invocation.invocation_id,
        "longRunningToolIds": [f"c{number}"],
    }
    add_event(session, content={"role": "model", "parts": [call]}, **ids)
    add_request(invocation, "person", number)


def add_task(
    session: Session, text: str = "Water the plants.", number: int = 1, **fields: Any
) -> ScheduledTask:
    at = timezone.now() + timedelta(hours=1)
    values = {"start_at": at, "next_at": at, "time_zone": "UTC", "every": "0 9 * * 1-5", **fields}
    ids = {"invocation_id": f"e-{number}", "call_id": f"c{number}", "agent_name": "clerk"}
    return ScheduledTask.objects.create(session=session, task=text, **ids, **values)


def activity(client: Client) -> str:
    response = client.get("/activity/list/")
    assert response.status_code == 200
    return response.content.decode()


def sections(html: str) -> dict[str, list[str]]:
    """Return the titles of the sessions under each heading."""
    parts = re.split(r"<h2>([^<]*)</h2>", html)[1:]
    found = zip(parts[::2], parts[1::2], strict=True)
    return {name: re.findall(r'href="[^"]*">([^<]*)</a>', part) for name, part in found}


def test_what_waits_runs_and_comes_is_listed_with_a_link_to_its_session(
    browser_of_person: Client, person: User
) -> None:
    asking, approval, running, queued, working, planned = (
        make(person, title) for title in ("Asking", "Approval", "Running", "Queued", "Working", "Planned")
    )
    add_job(asking, "waiting", question=QUESTION)
    add_invocation(asking, "waiting")
    add_request(add_invocation(approval, "waiting"), "person")
    add_invocation(running, "running")
    add_invocation(queued, "queued")
    add_job(working, "running", progress_done=1, progress_total=4, progress_message="Shelf <1>")
    add_invocation(working, "waiting")  # the job continues it, so that nobody needs to
    add_task(planned)
    html = activity(browser_of_person)
    assert sections(html) == {
        "Waiting for you": ["Approval", "Asking"],
        "Waiting for staff": [],
        "Running": ["Queued", "Running", "Working"],
        "Scheduled": ["Planned"],
    }
    for session in (asking, approval, running, queued, working, planned):
        assert f'href="{page(session)}"' in html
    assert "<b>Go &lt;b&gt;ahead&lt;/b&gt;?</b>" in html and 'value="yes">Approve<' in html
    assert 'max="100" value="25"' in html and "data-cancel-job=" in html
    assert (
        "Water the plants." in html and "every weekday at 09:00" in html and "data-cancel-schedule=" in html
    )
    assert html.count(f'data-frames="{page(asking)}frames/"') == 1


def test_a_question_is_asked_with_the_part_of_its_chat(browser_of_person: Client, person: User) -> None:
    session = make(person, "Asking")
    hostile = {"note": "\u202egnp.exe " + "x" * 10_000, "items": "<b>"}
    asked = {"originalFunctionCall": {"id": "o1", "name": "send_parcel", "args": hostile}}
    add_call(session, "adk_request_confirmation", {**asked, "toolConfirmation": {"hint": ""}}, 1)
    add_call(session, REMOTE_INPUT, {"question": "Which **day**?"}, 2)
    add_call(session, "get_user_choice", {"options": ["by post", "by hand"]}, 3)
    html = activity(browser_of_person)
    assert sections(html)["Waiting for you"] == ["Asking"] * 3
    for part in re.findall(r'<(?:section|form) class="question".*?</(?:section|form)>', html, re.DOTALL):
        assert part in browser_of_person.get(page(session)).content.decode()
    assert html.count('class="question"') == 3
    assert "\\u202egnp.exe" in html and "\u202e" not in html and "x" * 10_000 in html
    assert html.index("x" * 10_000) < html.index('data-confirm="yes"')


def test_a_call_whose_event_cannot_be_shown_is_answered_in_its_chat(
    browser_of_person: Client, person: User
) -> None:
    session = make(person, "Odd")
    add_call(session, "adk_request_confirmation", {"originalFunctionCall": [1]})
    add_request(add_invocation(session, "waiting", 2), "person", 2)
    assert activity(browser_of_person).count("<bdi>Refund</bdi>: answer it in the chat.") == 2


def test_the_number_of_questions_in_the_list_of_chats_agrees_with_the_activity(
    browser_of_person: Client, person: User, session_of_another: Session
) -> None:
    assert 'data-asked="0"' in browser_of_person.get("/chats/").content.decode()
    add_job(make(person, "Job"), "waiting", question=QUESTION)
    session = make(person, "Calls", archived_at=timezone.now())
    for number in (1, 2):
        add_request(add_invocation(session, "waiting", number), "person", number)
    add_request(add_invocation(make(person, "Staff"), "waiting"), STAFF)
    add_request(add_invocation(session_of_another, "waiting"), "person")
    assert len(sections(activity(browser_of_person))["Waiting for you"]) == 3
    for address in ("/chats/", "/", page(session)):
        assert 'data-asked="3"' in browser_of_person.get(address).content.decode()


def test_the_page_has_the_activity_without_javascript(browser_of_person: Client, session: Session) -> None:
    add_invocation(session, "running")
    html = browser_of_person.get("/activity/").content.decode()
    assert 'aria-labelledby="inbox-title"' in html and f'href="{page(session)}"' in html


def test_what_is_over_deleted_or_of_another_person_is_not_listed(
    browser_of_person: Client, person: User, session: Session, session_of_another: Session
) -> None:
    deleted = make(person, "Deleted", deleted_at=timezone.now())
    for other in (deleted, session_of_another):
        add_invocation(other, "running")
        add_job(other, "waiting", question=QUESTION)
        add_task(other)
    for number, status in enumerate(("completed", "failed", "cancelled")):
        add_invocation(session, status, number)
    for number, status in enumerate(("succeeded", "failed", "cancelled")):
        add_job(session, status, number)
    add_task(session, next_at=None)
    assert sections(activity(browser_of_person)) == EMPTY
    for sentence in ("Nothing waits for you.", "Nothing is running.", "Nothing is scheduled."):
        assert sentence in activity(browser_of_person)


def test_a_call_that_only_somebody_else_may_approve_does_not_wait_for_the_person(
    browser_of_person: Client, person: User
) -> None:
    for title, rules in (
        ("Staff", [STAFF]),
        ("Site", ["site"]),
        ("Own", ["person"]),
        ("Both", [STAFF, "person"]),
    ):
        invocation = add_invocation(make(person, title), "waiting")
        for number, rule in enumerate(rules):
            add_request(invocation, rule, number)
    html = activity(browser_of_person)
    waiting = {"Waiting for you": ["Both", "Own"], "Waiting for staff": ["Both", "Staff"]}
    assert sections(html) == {**EMPTY, **waiting}
    marked = [
        session.title for session in with_activity(Session.objects.all()) if vars(session)["needs_person"]
    ]
    assert sorted(marked) == ["Both", "Own"]


def test_an_archived_session_is_listed(browser_of_person: Client, person: User) -> None:
    add_task(make(person, "Archived", archived_at=timezone.now()))
    assert sections(activity(browser_of_person)) == {**EMPTY, "Scheduled": ["Archived"]}


@pytest.mark.parametrize("title", ["a\ufffdb", "\u202egnp.exe", "x" * 200, "<b>&amp;</b>", "{{ 1 }}"])
def test_a_hostile_title_is_shown_as_it_is_and_turns_no_text_around(
    browser_of_person: Client, person: User, title: str
) -> None:
    add_invocation(make(person, title), "running")
    html = activity(browser_of_person)
    assert "\u202e" not in html
    assert title.lstrip("\u202e").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in html
    assert re.findall(
        r'<a class="item-title" dir="auto"', html
    )  # a title of another direction stays in its place


def test_a_title_with_nul_is_stored_and_listed(browser_of_person: Client, session: Session) -> None:
    assert browser_of_person.post(f"{page(session)}rename/", {"title": "a\0b"}).status_code == 204
    add_invocation(session, "running")
    assert sections(activity(browser_of_person)) == {**EMPTY, "Running": ["a\ufffdb"]}


def test_odd_rows_do_not_take_down_the_others(browser_of_person: Client, session: Session) -> None:
    add_job(session, "waiting", 1, question=None)
    add_job(session, "waiting", 2, question={"text": None})
    add_job(
        session, "running", 3, progress_done=float("inf"), progress_total=float("nan"), tool_name="x" * 128
    )
    add_task(session, every="no rule", time_zone="Nowhere/Land")
    html = activity(browser_of_person)
    assert html.count("<li id=") == 4
    assert "by the unreadable rule &#x27;no rule&#x27;" in html


def test_the_activity_needs_five_queries_however_much_there_is(
    browser_of_person: Client, person: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(MAX_ROWS + 5):
        session = make(person, f"Chat {number}")
        add_invocation(session, "running", 1)
        waiting = add_invocation(session, "waiting", 2)
        AnswerRequest.objects.create(
            session=session, invocation_id=waiting.invocation_id, call_id="c2", kind="confirmation",
            tool_name="refund", answered_by=STAFF, asked_at=timezone.now(),
        )  # fmt: skip
        add_job(session, "running", 3)
        add_job(session, "waiting", 4, question=QUESTION)
        add_task(session, number=5)
    with django_assert_num_queries(LOGIN_QUERIES + 5):
        html = activity(browser_of_person)
    assert html.count("<li id=") == 5 * MAX_ROWS
    assert f"Each list ends after {MAX_ROWS} entries." in html


def test_only_a_list_that_is_cut_says_so(browser_of_person: Client, session: Session) -> None:
    for number in range(MAX_ROWS):
        add_task(session, number=number)
    assert "Each list ends" not in activity(browser_of_person)
    add_task(session, number=MAX_ROWS)
    html = activity(browser_of_person)
    assert html.count("<li id=") == MAX_ROWS
    assert "Each list ends" in html
