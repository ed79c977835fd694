"""The demo help desk with its keyless model: a scheduled task is executed by the agent that is responsible for it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from adk_site import agents
from adk_site.demo.model import DemoModel
from runtime.apps import App
from sessions_app import agent_registry
from sessions_app.models import Event, ScheduledTask
from sessions_app.scheduling import firing
from tests.integration.job_helpers import run_queue, talk
from tests.integration.schedule_helpers import fire_due_tasks

pytestmark = pytest.mark.usefixtures("background_end")


def test_a_scheduled_order_lookup_is_done_by_the_orders_agent(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = agents.help_desk.clone(update={"model": DemoModel(delay=0)})
    monkeypatch.setattr(agent_registry, "apps", lambda: {"help_desk": App(name="help_desk", root_agent=desk)})
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)
    session_id = talk(person, "help_desk", "In one minute, check the status of order 1003")
    assert ScheduledTask.objects.get().task == "check the status of order 1003"
    ScheduledTask.objects.update(next_at=timezone.now())
    fire_due_tasks()
    run_queue(session_id)
    last = Event.objects.filter(session_id=session_id).latest("seq")
    assert last.author == "orders" and "1003" in (last.text or "")
