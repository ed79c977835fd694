"""Scheduled tasks that cannot be run: each fails alone, with its reason, and breaks no page, socket or sweep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.models import ScheduledTask
from sessions_app.process import threads
from sessions_app.rendering.html import render_schedule
from sessions_app.scheduling import cancel_scheduled_task, firing, list_scheduled_tasks, schedule_task
from sessions_app.scheduling.session_tasks import tasks_of_session
from tests.fakes import ScriptedModel, call
from tests.integration.scheduling.schedule_helpers import (
    converse,
    fire_due_tasks,
    last_response,
    make_due,
    run_client_ids,
    run_invocations,
    schedule,
)
from tests.served_agents import Served

ODD = [
    {"every": "999999 weeks"},
    {"every": "nonsense"},
    {"every": "0 0 30 2 *"},
    {"every": "1 day", "time_zone": "Mars/Base"},
]


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch, served: Served, person: User, background_end: None
) -> ScriptedModel:
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)
    scripted = ScriptedModel()
    tools = [schedule_task, list_scheduled_tasks, cancel_scheduled_task]
    agent = LlmAgent(name="gardener", model=scripted, tools=tools)
    served(App(name="garden", root_agent=agent))
    return scripted


@pytest.mark.parametrize("odd", ODD)
def test_a_task_that_cannot_be_fired_fails_once_and_the_others_fire(
    person: User, model: ScriptedModel, caplog: pytest.LogCaptureFixture, odd: dict[str, str]
) -> None:
    broken, other = schedule(person, model, every="day"), schedule(person, model, every="day")
    long_ago = timezone.now() - timedelta(days=3)
    ScheduledTask.objects.filter(pk=broken.pk).update(start_at=long_ago, **odd)
    make_due(broken)
    make_due(other)
    fire_due_tasks()
    assert (len(run_client_ids(broken)), len(run_client_ids(other))) == (0, 1)
    broken.refresh_from_db()
    assert (broken.status, broken.next_at) == ("failed", None)
    assert broken.error.startswith("The task could not be started: ")
    assert f"Scheduled task {broken.pk}" in caplog.text
    caplog.clear()
    fire_due_tasks()
    assert f"Scheduled task {broken.pk}" not in caplog.text


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_task_breaks_neither_the_chat_nor_the_admin_nor_the_list_of_the_model(
    person: User, model: ScriptedModel, odd: dict[str, str], client: Client
) -> None:
    task = schedule(person, model, every="day")
    ScheduledTask.objects.update(**odd)
    (shown,) = threads.run(tasks_of_session(task.session_id))
    assert f'data-id="{task.pk}"' in render_schedule(shown)
    converse(person, model, call("list_scheduled_tasks"), "These.", session_id=task.session_id)
    assert [listed["id"] for listed in last_response(model)["scheduled_tasks"]] == [task.pk]
    client.force_login(User.objects.create_superuser("root"))
    for page in (
        reverse("admin:sessions_app_scheduledtask_changelist"),
        reverse("admin:sessions_app_scheduledtask_change", args=[task.pk]),
        reverse("admin:sessions_app_session_change", args=[task.session_id]),
    ):
        assert client.get(page).status_code == 200


def test_a_failed_task_is_shown_with_its_reason_until_the_person_dismisses_it(
    person: User, model: ScriptedModel, client: Client
) -> None:
    task = schedule(person, model, every="day")
    ScheduledTask.objects.update(every="nonsense", next_at=timezone.now())
    fire_due_tasks()
    (shown,) = threads.run(tasks_of_session(task.session_id))
    assert "could not be started" in render_schedule(shown) and "Dismiss" in render_schedule(shown)
    client.force_login(User.objects.create_superuser("root"))
    page = client.get(reverse("admin:sessions_app_scheduledtask_change", args=[task.pk])).content.decode()
    assert "could not be started" in page
    threads.run(use_cases.cancel_schedule(actors.person(person), task.session_id, task.pk))
    assert threads.run(tasks_of_session(task.session_id)) == []


@pytest.mark.parametrize("column", ["start_at", "next_at", "ends_at"])
def test_a_time_that_cannot_be_shown_is_not_stored(person: User, model: ScriptedModel, column: str) -> None:
    schedule(person, model, every="day")
    with pytest.raises(IntegrityError, match="scheduled_task_readable_times"):
        ScheduledTask.objects.update(**{column: datetime(9999, 12, 31, 23, tzinfo=UTC)})


def test_the_task_of_a_deactivated_person_waits_and_is_made_up_for_once(
    person: User, model: ScriptedModel
) -> None:
    task = schedule(person, model, every="10 minutes")
    make_due(task)
    User.objects.filter(pk=person.pk).update(is_active=False)
    fire_due_tasks()
    assert run_client_ids(task) == []
    User.objects.filter(pk=person.pk).update(is_active=True)
    fire_due_tasks()
    run_invocations(task.session_id, model, "Done.")
    fire_due_tasks()
    assert run_client_ids(task) == [f"schedule:{task.pk}:1"]
