"""Escalation: what waits too long is told to staff by mail once, or rejected once; other requests are left alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.db.models import F

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import FunctionTool
from sessions_app.base.codec import event_to_show
from sessions_app.invocations.answers.escalation import escalations
from sessions_app.invocations.waiting_calls import repair_requests
from sessions_app.invocations.worker import worker
from sessions_app.models import AnswerRequest, Event, Invocation, WaitingMail
from sessions_app.process import threads
from sessions_app.process.group_mail import waiting_mails
from sessions_app.process.sweeping import sweep_over
from sessions_app.rendering.html import render_event
from sessions_app.rendering.session_view import SessionView
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import talk
from tests.served_agents import Served, asking_workflow

pytestmark = pytest.mark.django_db(transaction=True)
MAIL = {"mail_seconds": 3600, "mail_group": "finance"}
PAID: list[int] = []


def pay(euros: int) -> str:
    """Pay an amount."""
    PAID.append(euros)
    return "paid"


@pytest.fixture
def row(person: User, served: Served, configure: Callable[..., None], background_end: None) -> AnswerRequest:
    """A request that has waited for two hours."""
    PAID.clear()
    model = ScriptedModel(turns=[call("pay", euros=9), "Then not."])
    agent = LlmAgent(name="clerk", model=model, tools=[FunctionTool(pay, require_confirmation=True)])
    served(App(name="desk", root_agent=agent))
    session_id = talk(person, "desk", "Pay my secret rent")
    AnswerRequest.objects.update(asked_at=F("asked_at") - timedelta(hours=2))
    return AnswerRequest.objects.get(session=session_id)


@pytest.fixture
def finance(person: User) -> Group:
    group = Group.objects.create(name="finance")
    for name, email, is_active in (("grace", "grace@example.com", True), ("gone", "gone@example.com", False)):
        group.user_set.add(User.objects.create_user(name, email=email, is_active=is_active))
    return group


def sweep() -> None:
    async def idle() -> None:
        await worker().wait_until_idle()

    sweep_over([*escalations(), waiting_mails()])
    threads.run(idle())


def test_staff_get_one_mail_about_what_waits_too_long_without_words_of_the_conversation(
    row: AnswerRequest, finance: Group, configure: Callable[..., None]
) -> None:
    configure(
        site_address="https://chat.example.org",
        answer_limits={"": MAIL, "refund": {"mail_seconds": 1, "mail_group": "nobody"}},
    )
    for _ in range(3):
        sweep()
    (sent,) = mail.outbox
    assert sent.to == ["grace@example.com"]
    link = f"https://chat.example.org/admin/sessions_app/answerrequest/{row.pk}/change/"
    assert "pay (desk)" in sent.body and sent.body.endswith(f" {link}")
    assert "secret" not in sent.body and "9" not in sent.subject
    row.refresh_from_db()
    assert row.escalated_at is not None and PAID == []


def test_a_mail_that_could_not_be_sent_is_sent_by_a_later_sweep(
    row: AnswerRequest, finance: Group, configure: Callable[..., None], settings: Any
) -> None:
    configure(answer_limits={"pay": MAIL})
    backend, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, "no.such.Backend"
    sweep()
    settings.EMAIL_BACKEND = backend
    WaitingMail.objects.update(due_at=F("due_at") - timedelta(minutes=2))
    for _ in range(2):
        sweep()
    assert len(mail.outbox) == 1


def test_what_nobody_answers_in_time_is_rejected_once_and_the_person_reads_why(
    row: AnswerRequest, configure: Callable[..., None]
) -> None:
    configure(answer_limits={"pay": {"reject_seconds": 3600}})
    for _ in range(2):
        sweep()
    answer = Invocation.objects.get(client_id=f"answer:{row.call_id}")
    assert (answer.actor_kind, answer.reason) == ("site", "Nobody answered in time.")
    event = Event.objects.filter(session=row.session_id, author="user", kind="response").get()
    html = str(render_event(SessionView(row.session_id, "desk"), event.seq, event_to_show(event.body)))
    assert "Rejected automatically" in html and "Nobody answered in time." in html
    assert PAID == [] and not AnswerRequest.objects.exists()


@pytest.mark.parametrize(
    "limits",
    [{}, {"pay": {"reject_seconds": 7300}, "": {"reject_seconds": 1}}, {"refund": {"reject_seconds": 1}}],
)
def test_what_has_time_left_or_is_of_another_tool_is_left_alone(
    row: AnswerRequest, configure: Callable[..., None], limits: dict[str, Any]
) -> None:
    configure(answer_limits=limits)
    sweep()
    assert AnswerRequest.objects.open().exists() and mail.outbox == []


@pytest.mark.parametrize("schema", [None, bool])
def test_the_question_of_a_workflow_waits_on_and_staff_are_told_of_it(
    person: User,
    finance: Group,
    served: Served,
    configure: Callable[..., None],
    background_end: None,
    caplog: pytest.LogCaptureFixture,
    schema: Any,
) -> None:
    configure(answer_limits={"": {**MAIL, "reject_seconds": 3600}})
    served(asking_workflow("desk", schema))
    talk(person, "desk", "My lamp is broken")
    AnswerRequest.objects.update(asked_at=F("asked_at") - timedelta(hours=2))
    sweep()
    assert AnswerRequest.objects.open().exists() and len(mail.outbox) == 1
    assert "could not repair" not in caplog.text


def test_the_nightly_repair_stores_what_an_older_version_did_not_and_drops_what_waits_no_longer(
    row: AnswerRequest,
) -> None:
    AnswerRequest.objects.all().delete()
    repair_requests()
    assert AnswerRequest.objects.open().get().effect == "Pay: 9"
    AnswerRequest.objects.update(asked_at=F("asked_at") - timedelta(days=2))
    repair_requests()
    assert AnswerRequest.objects.exists()
    Invocation.objects.update(status="cancelled")
    repair_requests()
    assert not AnswerRequest.objects.exists()
