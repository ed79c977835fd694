"""Scheduled tasks: each due time starts one invocation despite crashes and parallel sweeps; tasks can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from psycopg import OperationalError

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events import Event as RuntimeEvent
from runtime.tools import AgentTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.conf import conf
from sessions_app.errors import NotFoundError
from sessions_app.history.event_marks import IT_IS_TIME
from sessions_app.invocations import rewind
from sessions_app.models import Event, Invocation, ScheduledTask, Session
from sessions_app.process import threads
from sessions_app.rendering.html import render_event
from sessions_app.rendering.session_view import SessionView
from sessions_app.scheduling import (
    cancel_scheduled_task,
    current_time_instruction,
    firing,
    list_scheduled_tasks,
    schedule_task,
)
from sessions_app.store import DjangoSessionService
from sessions_app.store.history_cache import cache
from sessions_app.store.sql import invocation_queue
from sessions_app.store.sql.invocation_queue import NewInvocation, enqueue
from sessions_app.tasks import sweep
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import go_back
from tests.integration.jobs.job_helpers import last_responses
from tests.integration.scheduling.schedule_helpers import (
    WATER,
    converse,
    fire_due_tasks,
    last_response,
    make_due,
    run_client_ids,
    run_invocations,
    schedule,
)
from tests.integration.tampering import tamper
from tests.served_agents import Served

TOOLS = [schedule_task, list_scheduled_tasks, cancel_scheduled_task]


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing to workers: the tests run the queues themselves."""
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)


@pytest.fixture
def model(served: Served, person: User, background_end: None) -> ScriptedModel:
    scripted = ScriptedModel()
    agent = LlmAgent(name="gardener", model=scripted, instruction=current_time_instruction, tools=TOOLS)
    served(App(name="garden", root_agent=agent))
    return scripted


def test_a_due_task_starts_an_invocation_with_its_text(person: User, model: ScriptedModel) -> None:
    task = schedule(person, model, run_at="in 10 minutes")
    assert last_response(model)["status"] == "scheduled" and last_response(model)["id"] == task.pk
    fire_due_tasks()
    assert run_client_ids(task) == []
    make_due(task)
    fire_due_tasks()
    fire_due_tasks()
    assert run_client_ids(task) == [f"schedule:{task.pk}:1"]
    run_invocations(task.session_id, model, "Water the plants!")
    texts = [part.text for part in model.requests[-1].contents[-1].parts or []]
    assert texts == [IT_IS_TIME, WATER]
    message, answer = Event.objects.filter(session_id=task.session_id).order_by("-seq")[:2][::-1]
    assert (message.author, answer.text) == ("user", "Water the plants!")
    article = render_event(
        SessionView(task.session_id, "help_desk"), message.seq, RuntimeEvent.model_validate(message.body)
    )
    assert WATER in article and "Scheduled" in article
    assert IT_IS_TIME not in article and "You" not in article
    task.refresh_from_db()
    assert (task.status, task.runs, task.how_often) == ("over", 1, "once")


def test_the_sweep_fires_due_tasks(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[UUID] = []
    monkeypatch.setattr(firing, "offer_session", sent.append)
    task = schedule(person, model, run_at="in 10 minutes")
    make_due(task)
    sweep()
    assert sent == [task.session_id] and len(run_client_ids(task)) == 1


def test_a_repeated_task_fires_again_and_missed_times_are_made_up_once(
    person: User, model: ScriptedModel
) -> None:
    task = schedule(person, model, every="10 minutes")
    long_ago = timezone.now() - timedelta(days=3)
    ScheduledTask.objects.update(start_at=long_ago, next_at=long_ago)
    for _ in range(3):
        fire_due_tasks()
        run_invocations(task.session_id, model, "Done.")
    assert run_client_ids(task) == [f"schedule:{task.pk}:1"]
    task.refresh_from_db()
    assert task.next_at is not None and task.last_run_at is not None
    assert timedelta() < task.next_at - task.last_run_at <= timedelta(minutes=10)
    assert (task.next_at - task.start_at) % timedelta(minutes=10) == timedelta()
    make_due(task)
    fire_due_tasks()
    assert run_client_ids(task)[1:] == [f"schedule:{task.pk}:2"]


def test_two_parallel_sweeps_fire_a_task_once(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = schedule(person, model, every="10 minutes")
    make_due(task)
    both_have_loaded = threading.Barrier(2)

    def enqueue_together(new: NewInvocation) -> Coroutine[Any, Any, Any]:
        both_have_loaded.wait(timeout=30)
        return enqueue(new)

    monkeypatch.setattr(firing, "enqueue", enqueue_together)

    def sweep_once() -> None:
        fire_due_tasks()
        connection.close()

    sweeps = [threading.Thread(target=sweep_once) for _ in range(2)]
    for thread in sweeps:
        thread.start()
    for thread in sweeps:
        thread.join()
    task.refresh_from_db()
    assert run_client_ids(task) == [f"schedule:{task.pk}:1"] and task.runs == 1


@pytest.mark.parametrize("place", ["before the enqueue", "after the enqueue"])
def test_the_next_sweep_completes_a_sweep_that_crashed(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    task = schedule(person, model, every="10 minutes")
    make_due(task)

    async def crash(new: NewInvocation) -> None:
        if place == "after the enqueue":
            await enqueue(new)
        raise OperationalError("the database is restarting")

    with monkeypatch.context() as crashing:
        crashing.setattr(firing, "enqueue", crash)
        fire_due_tasks()
    assert len(run_client_ids(task)) == (place == "after the enqueue")
    run_invocations(task.session_id, model, "Done.")
    fire_due_tasks()
    assert run_client_ids(task) == [f"schedule:{task.pk}:1"]
    task.refresh_from_db()
    assert task.runs == 1 and task.next_at is not None and task.next_at > timezone.now()


def test_a_task_does_not_fire_while_its_last_run_is_queued(person: User, model: ScriptedModel) -> None:
    task = schedule(person, model, every="10 minutes")
    for _ in range(3):
        make_due(task)
        fire_due_tasks()
    assert len(run_client_ids(task)) == 1
    run_invocations(task.session_id, model, "Done.")
    fire_due_tasks()
    assert len(run_client_ids(task)) == 2


def test_a_newer_message_that_interrupts_does_not_cancel_a_queued_run(
    person: User, model: ScriptedModel
) -> None:
    task = schedule(person, model, every="day")
    make_due(task)
    fire_due_tasks()
    names = {"invocation_id": "e-newer", "client_id": "newer"}
    Invocation.objects.create(session=task.session, message={}, **names)
    threads.run(
        invocation_queue.interrupt_older(task.session_id, invocation_id="e-newer", by=actors.person(person))
    )
    assert Invocation.objects.get(client_id=f"schedule:{task.pk}:1").status == "queued"


def test_a_task_ends_after_its_last_run_or_its_end_time(person: User, model: ScriptedModel) -> None:
    counted = schedule(person, model, every="10 minutes", most_runs=2)
    timed = schedule(person, model, every="10 minutes", ends_at="in 15 minutes")
    for _ in range(3):
        for task in (counted, timed):
            ScheduledTask.objects.filter(pk=task.pk, next_at__isnull=False).update(next_at=timezone.now())
            fire_due_tasks()
            run_invocations(task.session_id, model, "Done.")
        ScheduledTask.objects.filter(pk=timed.pk).update(ends_at=timezone.now())
    assert (len(run_client_ids(counted)), len(run_client_ids(timed))) == (2, 2)
    assert {task.status for task in ScheduledTask.objects.all()} == {"over"}


def test_a_replayed_call_schedules_once(person: User, model: ScriptedModel) -> None:
    """The state after a process dies between the tool call and the commit of its response event."""
    task = schedule(person, model, every="day")
    tamper(Event.objects.filter(session=task.session, kind="response").delete)
    tamper(Event.objects.filter(session=task.session, text="I will.").delete)
    Session.objects.filter(pk=task.session_id).update(last_seq=2)
    Invocation.objects.filter(session=task.session).update(status="queued", attempts=1)
    cache.forget(("garden", str(person.pk), task.session.key))  # another process has only the log
    model.requests.clear()
    run_invocations(task.session_id, model, "I will.")
    assert last_response(model)["id"] == task.pk
    assert ScheduledTask.objects.count() == 1
    assert Invocation.objects.get(session=task.session).status == "completed"


def test_the_model_lists_and_cancels_active_tasks(person: User, model: ScriptedModel) -> None:
    task = schedule(person, model, every="0 9 * * 1-5", time_zone="Europe/Berlin")
    converse(person, model, call("list_scheduled_tasks"), "These.", session_id=task.session_id)
    (listed,) = last_response(model)["scheduled_tasks"]
    assert (
        listed["how_often"] == "every weekday at 09:00 (Europe/Berlin)" and "T09:00:00+0" in listed["next_at"]
    )
    assert "now" in last_response(model)
    converse(person, model, call("cancel_scheduled_task", id=task.pk), "Gone.", session_id=task.session_id)
    assert last_response(model) == {"status": "cancelled", "id": task.pk, "task": WATER}
    converse(person, model, call("cancel_scheduled_task", id=task.pk + 1), "No.", session_id=task.session_id)
    assert last_response(model)["error"].endswith("Active tasks: none.")


def test_the_time_zone_of_the_user_is_the_default(person: User, model: ScriptedModel) -> None:
    session, _ = converse(person, model, "Hello.")
    threads.run(_set_time_zone(session, "Asia/Tokyo"))
    converse(
        person, model, call("schedule_task", task=WATER, every="0 9 * * *"), "I will.", session_id=session.pk
    )
    task = ScheduledTask.objects.get()
    assert task.time_zone == "Asia/Tokyo" and task.next_at is not None and task.next_at.hour == 0
    instruction = str(model.requests[-1].config.system_instruction)
    assert "+09:00, in the time zone Asia/Tokyo" in instruction


async def _set_time_zone(session: Session, zone: str) -> None:
    service = DjangoSessionService()
    stored = await service.get_session(
        app_name=session.app_name, user_id=str(session.user_id), session_id=session.key
    )
    assert stored is not None
    event = RuntimeEvent(author="user")
    event.actions.state_delta["user:time_zone"] = zone
    await service.append_event(stored, event)


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({}, "Neither 'run_at' nor 'every'"),
        ({"run_at": "2031-05-01T09:00"}, "no offset"),
        ({"run_at": "2001-05-01T09:00Z"}, "is in the past"),
        ({"every": "fortnight"}, "a number and a unit"),
        ({"every": "30 seconds"}, "more often than this site allows"),
        ({"every": "day", "most_runs": 0}, "Give 1 or more"),
        ({"every": "day", "ends_at": "in 1 hour"}, "Give a later 'ends_at'"),
        ({"every": "day", "time_zone": "Mars/Base"}, "IANA"),
        ({"every": "day", "task": "  "}, "The task is empty"),
        ({"run_at": "9999-12-31T23:59:59-14:00"}, "Give a time in the next 3650 days"),
        ({"every": "day", "ends_at": "9999-12-31T23:59:59-14:00"}, "Give a time in the next 3650 days"),
        ({"every": "999999 weeks"}, "Leave at most 3650 days between two runs"),
        ({"every": "0 0 29 2 1"}, "Leave at most 3650 days between two runs"),
    ],
)
def test_invalid_arguments_are_refused_with_a_remedy(
    person: User, model: ScriptedModel, args: dict[str, Any], error: str
) -> None:
    converse(person, model, call("schedule_task", **{"task": WATER, **args}), "I see.")
    assert error in last_response(model)["error"]
    assert not ScheduledTask.objects.exists()


def test_a_session_has_a_limited_number_of_active_tasks(person: User, model: ScriptedModel) -> None:
    limit = conf().max_schedules_per_session
    session, _ = converse(
        person,
        model,
        [call("schedule_task", f"c{n}", task=f"task {n}", every="day") for n in range(limit + 1)],
        "I will.",
    )
    assert ScheduledTask.objects.filter(session=session).count() == limit
    assert [response["error"] for response in last_responses(model) if "error" in response] == [
        f"Nothing was scheduled. This session has {limit} scheduled tasks, the maximum. Cancel one of them first."
    ]


def test_an_agent_that_is_a_tool_cannot_schedule_and_reads_why(
    person: User, model: ScriptedModel, served: Served
) -> None:
    inner = ScriptedModel(turns=[call("schedule_task", task=WATER, every="day"), "It is not possible."])
    helper = LlmAgent(name="helper", model=inner, description="Helps.", tools=[schedule_task])
    agent = LlmAgent(name="gardener", model=model, tools=[AgentTool(helper)])
    served(App(name="garden", root_agent=agent))
    converse(person, model, call("helper", request="schedule"), "No.")
    assert "sessions that the site stores" in last_response(inner)["error"]


def test_a_task_that_the_user_cancels_does_not_fire(person: User, model: ScriptedModel) -> None:
    task = schedule(person, model, every="day")
    make_due(task)
    for _ in range(2):
        threads.run(use_cases.cancel_schedule(actors.person(person), task.session_id, task.pk))
    fire_due_tasks()
    assert run_client_ids(task) == []
    task.refresh_from_db()
    assert (task.status, task.cancelled_by) == ("cancelled", person)


def test_a_task_of_another_user_or_session_is_not_found(
    person: User, model: ScriptedModel, django_user_model: type[User]
) -> None:
    task = schedule(person, model, every="day")
    other = schedule(person, model, every="day")
    stranger = django_user_model.objects.create(username="eve")
    for user, session_id in ((stranger, task.session_id), (person, other.session_id)):
        with pytest.raises(NotFoundError):
            threads.run(use_cases.cancel_schedule(actors.person(user), session_id, task.pk))
    assert ScheduledTask.objects.active().count() == 2


def test_a_rewind_before_a_call_cancels_only_the_tasks_of_that_call(
    person: User, model: ScriptedModel
) -> None:
    first = schedule(person, model, every="day")
    second_call = call("schedule_task", task="another", every="day")
    _, second = converse(person, model, second_call, "I will.", session_id=first.session_id)
    threads.run(go_back(person, first.session_id, second))
    assert [(task.task, task.status) for task in ScheduledTask.objects.order_by("id")] == [
        (WATER, "active"),
        ("another", "cancelled"),
    ]


def test_a_rewound_task_does_not_fire_when_the_rewind_crashed_before_it_cancelled_the_task(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = schedule(person, model, every="day")
    monkeypatch.setattr(rewind, "reconcile_after_rewind", AsyncMock())
    threads.run(go_back(person, task.session_id, task.invocation_id))
    make_due(task)
    fire_due_tasks()
    task.refresh_from_db()
    assert (task.status, run_client_ids(task)) == ("cancelled", [])


def test_deleting_a_session_deletes_its_tasks(person: User, model: ScriptedModel) -> None:
    task = schedule(person, model, every="day")
    make_due(task)
    tamper(task.session.delete)
    fire_due_tasks()
    assert not ScheduledTask.objects.exists()


def test_only_a_marked_message_is_rendered_as_a_scheduled_task() -> None:
    """A user's message with the same words is not mistaken for a scheduled task."""
    content = types.UserContent(parts=[types.Part(text=IT_IS_TIME), types.Part(text=WATER)])
    message = RuntimeEvent(author="user", content=content)
    assert "You" in render_event(SessionView(UUID(int=1), "help_desk"), 1, message)
