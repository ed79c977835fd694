"""The demo help desk with its keyless model: each agent does what it is responsible for, scheduled tasks included."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from adk_site import agents
from adk_site.demo.model import DemoModel
from runtime.apps import App
from sessions_app.models import Event, ScheduledTask
from sessions_app.scheduling import firing
from tests.integration.jobs.job_helpers import run_queue, send, talk
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


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(20990, "can ship"), (20997, "waits"), (5, "no order to decide on")],
)
def test_an_order_is_looked_up_checked_by_two_agents_and_decided(
    person: User, number: int, outcome: str
) -> None:
    session_id = talk(person, "help_desk", f"Check order {number} before it ships")
    authors = dict.fromkeys(Event.objects.filter(session_id=session_id).values_list("author", flat=True))
    assert list(authors)[:3] == ["user", "help_desk", "lookup"]
    assert set(list(authors)[3:5]) == {"stock", "fraud"} and list(authors)[5:] == ["decision"]
    assert outcome in (Event.objects.filter(session_id=session_id).latest("seq").text or "")


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
