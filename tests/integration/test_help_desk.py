"""The demo help desk with its keyless model: each agent does what it is responsible for, scheduled tasks included."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from adk_site import agents
from adk_site.demo import returns
from adk_site.demo.model import DemoModel
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.models import AnswerRequest, Artifact, Event, ScheduledTask, ToolJob
from sessions_app.process import threads
from sessions_app.scheduling import firing
from tests.integration.jobs.job_helpers import run_queue, run_task, send, talk
from tests.integration.scheduling.schedule_helpers import fire_due_tasks
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("background_end")


@pytest.fixture(autouse=True)
def desk(served: Served) -> None:
    agent = agents.help_desk.clone(update={"model": DemoModel(delay=0)})
    app = App(name="help_desk", root_agent=agent)
    served(app)


@pytest.mark.parametrize("before", ["Where is order 1001?", "My printer does not print"])
def test_a_specialist_hands_a_reminder_back_to_the_reception(person: User, before: str) -> None:
    session_id = talk(person, "help_desk", before)
    assert Event.objects.filter(session_id=session_id).latest("seq").author in ("orders", "technical")
    send(person, session_id, "m2", "Remind me in 10 minutes to call the supplier")
    assert ScheduledTask.objects.get().task == "Remind me to call the supplier"


def answer_open_question(person: User, session_id: UUID, *, yes: bool) -> None:
    asked = AnswerRequest.objects.get(session_id=session_id)
    answered = use_cases.answer_call(
        actors.person(person), session_id, asked.call_id, asked.tool_name, {"result": yes}
    )
    threads.run(answered)
    run_queue(session_id)


def last_text(session_id: UUID) -> str:
    return Event.objects.filter(session_id=session_id).latest("seq").text or ""


def test_an_order_comes_back_after_two_checks_a_decision_a_job_and_a_mail(
    person: User, broker: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(returns, "bank_seconds", 0)
    session_id = talk(person, "help_desk", "Return order 20990")
    asked = Event.objects.filter(session_id=session_id).latest("seq").body
    payload = asked["content"]["parts"][0]["functionCall"]["args"]["payload"]
    assert payload.keys() == {"check_stock", "check_fraud"}
    answer_open_question(person, session_id, yes=True)
    run_task(ToolJob.objects.get(session_id=session_id))
    run_queue(session_id)
    assert "Order 20990 is refunded" in last_text(session_id)
    files = Artifact.objects.filter(session_id=session_id).values_list("filename", flat=True)
    assert set(files) == {"credit-note-20990.csv", "mail-20990.txt"}
    send(person, session_id, "m2", "Return order 20990")
    assert "refunded already" in last_text(session_id)


def test_a_return_ends_without_a_payment_if_the_person_says_no(person: User) -> None:
    session_id = talk(person, "help_desk", "Return order 20990")
    answer_open_question(person, session_id, yes=False)
    assert last_text(session_id) == "Order 20990 is not refunded."
    send(person, session_id, "m2", "Return order 5")
    assert last_text(session_id) == "There is no such order."


def test_a_scheduled_order_lookup_is_done_by_the_orders_agent(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)
    session_id = talk(person, "help_desk", "In one minute, check the status of order 1003")
    assert ScheduledTask.objects.get().task == "check the status of order 1003"
    ScheduledTask.objects.update(next_at=timezone.now())
    fire_due_tasks()
    run_queue(session_id)
    last = Event.objects.filter(session_id=session_id).latest("seq")
    assert last.author == "orders" and "1003" in (last.text or "")
