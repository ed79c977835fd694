"""Names and values that tools and models make up: the pages show each of them as text."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils.html import conditional_escape, escape
from hypothesis import given

from sessions_app.models import Session, ToolJob
from sessions_app.rendering.call_words import describe_call
from sessions_app.rendering.hidden_characters import escape_hidden, mark_hidden, show_hidden_characters
from tests.fuzz.conftest import Errors, add_event, said
from tests.fuzz.profile import examples
from tests.fuzz.values import NAMES, json_values, names, storable
from tests.integration.tampering import tamper

PAGES = ("chat:session", "admin:sessions_app_session_change")


def event_about(name: str, value: Any, call_id: str = "c-1") -> dict[str, Any]:
    """An event that has the name wherever a tool or a model may choose one."""
    asked = {
        "originalFunctionCall": {"name": name, "args": {name: value}},
        "toolConfirmation": {"hint": name},
    }
    calls = [
        {"id": call_id, "name": name, "args": {name: value, "other": 1}},
        {"id": "c-2", "name": "adk_request_confirmation", "args": asked},
    ]
    responses = [{"id": call_id, "name": name, "response": {name: value}}]
    parts = [{"functionCall": call} for call in calls] + [{"functionResponse": one} for one in responses]
    actions = {"stateDelta": {name: value}, "artifactDelta": {name: 0}, "transferToAgent": name}
    content = {"role": "model", "parts": parts}
    return said(
        "named", author=name or "echo", actions=actions, content=content, longRunningToolIds=[call_id, "c-2"]
    )


def read(client: Client, session: Session) -> dict[str, str]:
    """The HTML of the pages of the session that say 200."""
    answers = {page: client.get(reverse(page, args=[session.pk])) for page in PAGES}
    assert {page: answer.status_code for page, answer in answers.items()} == dict.fromkeys(PAGES, 200)
    return {page: answer.content.decode() for page, answer in answers.items()}


def test_a_name_is_shown_as_the_text_that_it_is(browser: Client, session: Session, errors: Errors) -> None:
    """All names are on one page: reading it takes most of the time."""
    for name in NAMES:
        add_event(session, event_about(name, "some value"))
    html = read(browser, session)
    shown = html["chat:session"]
    assert shown.count('<dt dir="auto">other</dt><dd dir="auto">1</dd>') == len(NAMES)
    for name in NAMES:
        assert f'<dt dir="auto">{mark_hidden(name)}</dt><dd dir="auto">some value</dd>' in shown
        assert f'aria-label="Approval: {escape(escape_hidden(describe_call(None, name, {}).plain))}"' in shown
        assert show_hidden_characters(conditional_escape(name)) in html["admin:sessions_app_session_change"]
    assert "<script>alert" not in "".join(html.values())


def test_a_job_with_the_name_is_shown(browser: Client, session: Session) -> None:
    moment = "2040-01-01T00:00:00+00:00"
    jobs = []
    for number, name in enumerate(NAMES):
        add_event(session, event_about(name, "some value", f"c-{number}"))
        question = {"text": name or "?", "kind": "choice", "options": [name or "?"], "asked_at": moment}
        job = ToolJob.objects.create(
            session=session,
            invocation_id="e-1",
            call_id=f"c-{number}",
            tool_name=name[:128],
            task_name="t",
            agent_name="echo",
            args={name: name},
            status="waiting",
            question=question,
            answers=[{**question, "answer": name, "by": name, "at": moment}],
            artifacts={name: 0},
            result={name: name},
        )
        jobs.append(job)
    shown = read(browser, session)["chat:session"]
    assert [job.tool_name for job in jobs if f'data-id="{job.pk}"' not in shown] == []
    pages = [reverse("admin:sessions_app_tooljob_change", args=[job.pk]) for job in jobs]
    pages.append(reverse("admin:sessions_app_tooljob_changelist"))
    assert {page: browser.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)


@given(names, json_values)
@examples(20)
def test_any_name_and_value_are_shown(
    browser: Client, session: Session, errors: Errors, name: str, value: Any
) -> None:
    tamper(session.events.all().delete)
    session.last_seq = 0
    add_event(session, storable(event_about(name, value)))
    session.state = storable({name: value})
    session.save()
    read(browser, session)
    assert errors.taken() == []
