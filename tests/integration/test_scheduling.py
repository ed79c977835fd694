"""Scheduled tasks: each time comes once, whatever crashes or runs twice, and can be called off (issue 4, "Jobs")."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events import Event as RuntimeEvent
from runtime.tools import AgentTool
from sessions_app import agent_registry, use_cases
from sessions_app.conf import conf
from sessions_app.db import invocation_queue, threads
from sessions_app.errors import NotFoundError
from sessions_app.history.event_marks import IT_IS_TIME
from sessions_app.invocations import rewind
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, ScheduledTask, Session
from sessions_app.rendering import render_event
from sessions_app.scheduling import (
    cancel_scheduled_task,
    firing,
    list_scheduled_tasks,
    schedule_task,
    what_time_it_is,
)
from sessions_app.scheduling.firing import fire_due
from sessions_app.services import DjangoSessionService
from sessions_app.services.history_cache import cache
from sessions_app.tasks import sweep
from tests.fakes import ScriptedModel, call
from tests.integration.job_helpers import run_queue
from tests.integration.rewinding import go_back

TOOLS = [schedule_task, list_scheduled_tasks, cancel_scheduled_task]
WATER = "Remind the person to water the plants."


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run what is queued themselves."""
    monkeypatch.setattr(firing, "send_run_session", lambda session_id: None)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, person: User, background_end: None) -> ScriptedModel:
    scripted = ScriptedModel()
    agent = LlmAgent(name="gardener", model=scripted, instruction=what_time_it_is, tools=TOOLS)
    monkeypatch.setattr(agent_registry, "apps", lambda: {"garden": App(name="garden", root_agent=agent)})
    return scripted


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return threads.run(work())


def say(
    person: User, model: ScriptedModel, *turns: Any, session_id: UUID | None = None
) -> tuple[Session, str]:
    """A whole invocation; returns the session and the invocation's id."""
    model.turns = [*turns]

    async def talk() -> tuple[UUID, str]:
        pk = session_id or (await use_cases.create_session(person, "garden")).pk
        number = await Invocation.objects.filter(session_id=pk).acount()
        invocation_id, _ = await use_cases.send_message(person, pk, f"m{number}", "please")
        await worker().wait_until_idle()
        return pk, invocation_id

    pk, invocation_id = run(talk)
    return Session.objects.get(pk=pk), invocation_id


def scheduled(person: User, model: ScriptedModel, **args: Any) -> ScheduledTask:
    """What the model has scheduled in a new conversation."""
    session, _ = say(person, model, call("schedule_task", **{"task": WATER, **args}), "I will.")
    return ScheduledTask.objects.get(session=session)


def answered(model: ScriptedModel) -> dict[str, Any]:
    """What the model was told of its last call."""
    response = model.requests[-1].contents[-1].parts[0].function_response
    assert response.response is not None
    return response.response


def make_due(task: ScheduledTask) -> None:
    ScheduledTask.objects.filter(pk=task.pk).update(next_at=timezone.now())


def let_answer(session_id: UUID, model: ScriptedModel, *turns: Any) -> None:
    """A worker runs what is queued in the session."""
    model.turns = [*turns]
    run_queue(session_id)


def client_ids(task: ScheduledTask) -> list[str]:
    """The runs of the task that became invocations."""
    rows = Invocation.objects.filter(session_id=task.session_id, client_id__startswith="schedule:")
    return list(rows.order_by("id").values_list("client_id", flat=True))


def test_a_task_comes_at_its_time_and_the_agent_works_as_for_any_message(
    person: User, model: ScriptedModel
) -> None:
    task = scheduled(person, model, run_at="in 10 minutes")
    assert answered(model)["status"] == "scheduled" and answered(model)["id"] == task.pk
    fire_due()
    assert client_ids(task) == []
    make_due(task)
    fire_due()
    fire_due()
    assert client_ids(task) == [f"schedule:{task.pk}:1"]
    let_answer(task.session_id, model, "Water the plants!")
    asked = [part.text for part in model.requests[-1].contents[-1].parts]
    assert asked == [IT_IS_TIME, WATER]
    said, answer = Event.objects.filter(session_id=task.session_id).order_by("-seq")[:2][::-1]
    assert (said.author, answer.text) == ("user", "Water the plants!")
    article = render_event(task.session_id, said.seq, RuntimeEvent.model_validate(said.body))
    assert WATER in article and "Scheduled" in article
    assert IT_IS_TIME not in article and "You" not in article
    task.refresh_from_db()
    assert (task.status, task.runs, task.how_often) == ("over", 1, "once")


def test_the_sweep_begins_what_is_due(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[UUID] = []
    monkeypatch.setattr(firing, "send_run_session", sent.append)
    task = scheduled(person, model, run_at="in 10 minutes")
    make_due(task)
    sweep()
    assert sent == [task.session_id] and len(client_ids(task)) == 1


def test_a_task_that_repeats_comes_again_and_missed_times_are_made_up_once(
    person: User, model: ScriptedModel
) -> None:
    task = scheduled(person, model, every="10 minutes")
    long_ago = timezone.now() - timedelta(days=3)
    ScheduledTask.objects.update(start_at=long_ago, next_at=long_ago)
    for _ in range(3):
        fire_due()
        let_answer(task.session_id, model, "Done.")
    assert client_ids(task) == [f"schedule:{task.pk}:1"]
    task.refresh_from_db()
    assert task.next_at is not None and task.last_run_at is not None
    assert timedelta() < task.next_at - task.last_run_at <= timedelta(minutes=10)
    assert (task.next_at - task.start_at) % timedelta(minutes=10) == timedelta()
    make_due(task)
    fire_due()
    assert client_ids(task)[1:] == [f"schedule:{task.pk}:2"]


def test_two_sweeps_at_once_begin_a_task_once(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = scheduled(person, model, every="10 minutes")
    make_due(task)
    both_have_read = threading.Barrier(2)
    enqueue = invocation_queue.enqueue

    def enqueue_together(session_id: UUID, **values: Any) -> Coroutine[Any, Any, Any]:
        both_have_read.wait(timeout=30)
        return enqueue(session_id, **values)

    monkeypatch.setattr(invocation_queue, "enqueue", enqueue_together)

    def sweep_once() -> None:
        fire_due()
        connection.close()

    sweeps = [threading.Thread(target=sweep_once) for _ in range(2)]
    for one in sweeps:
        one.start()
    for one in sweeps:
        one.join()
    task.refresh_from_db()
    assert client_ids(task) == [f"schedule:{task.pk}:1"] and task.runs == 1


@pytest.mark.parametrize("place", ["before it is queued", "after it was queued"])
def test_a_sweep_that_dies_in_between_is_made_up_by_the_next(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    task = scheduled(person, model, every="10 minutes")
    make_due(task)
    with monkeypatch.context() as dying:
        if place == "before it is queued":
            dying.setattr(invocation_queue, "enqueue", None)
        else:
            dying.setattr(ScheduledTask, "time_after", None)
        fire_due()
    assert len(client_ids(task)) == (place == "after it was queued")
    let_answer(task.session_id, model, "Done.")
    fire_due()
    assert client_ids(task) == [f"schedule:{task.pk}:1"]
    task.refresh_from_db()
    assert task.runs == 1 and task.next_at is not None and task.next_at > timezone.now()


def test_an_agent_that_is_slower_than_the_clock_is_not_buried_in_work(
    person: User, model: ScriptedModel
) -> None:
    task = scheduled(person, model, every="10 minutes")
    for _ in range(3):
        make_due(task)
        fire_due()
    assert len(client_ids(task)) == 1
    let_answer(task.session_id, model, "Done.")
    fire_due()
    assert len(client_ids(task)) == 2


def test_a_newer_message_that_interrupts_does_not_cancel_what_waits_for_its_turn(
    person: User, model: ScriptedModel
) -> None:
    task = scheduled(person, model, every="day")
    make_due(task)
    fire_due()
    names = {"invocation_id": "e-newer", "client_id": "newer"}
    Invocation.objects.create(session=task.session, message={}, **names)
    run(lambda: invocation_queue.interrupt_older(task.session_id, invocation_id="e-newer", user_id=person.pk))
    assert Invocation.objects.get(client_id=f"schedule:{task.pk}:1").status == "queued"


def test_it_ends_after_its_last_time(person: User, model: ScriptedModel) -> None:
    counted = scheduled(person, model, every="10 minutes", most_runs=2)
    timed = scheduled(person, model, every="10 minutes", ends_at="in 15 minutes")
    for _ in range(3):
        for task in (counted, timed):
            ScheduledTask.objects.filter(pk=task.pk, next_at__isnull=False).update(next_at=timezone.now())
            fire_due()
            let_answer(task.session_id, model, "Done.")
        ScheduledTask.objects.filter(pk=timed.pk).update(ends_at=timezone.now())
    assert (len(client_ids(counted)), len(client_ids(timed))) == (2, 2)
    assert {task.status for task in ScheduledTask.objects.all()} == {"over"}


def test_a_call_that_is_run_again_after_an_interruption_schedules_once(
    person: User, model: ScriptedModel
) -> None:
    """As when a process dies between the tool's work and the event that records it."""
    task = scheduled(person, model, every="day")
    Event.objects.filter(session=task.session, kind="response").delete()
    Event.objects.filter(session=task.session, text="I will.").delete()
    Session.objects.filter(pk=task.session_id).update(last_seq=2)
    Invocation.objects.filter(session=task.session).update(status="queued", attempts=1)
    cache.forget(("garden", str(person.pk), task.session.key))  # another process knows the log only
    model.requests.clear()
    let_answer(task.session_id, model, "I will.")
    assert answered(model)["id"] == task.pk
    assert ScheduledTask.objects.count() == 1
    assert Invocation.objects.get(session=task.session).status == "completed"


def test_the_model_lists_and_cancels_what_is_to_come(person: User, model: ScriptedModel) -> None:
    task = scheduled(person, model, every="0 9 * * 1-5", time_zone="Europe/Berlin")
    say(person, model, call("list_scheduled_tasks"), "These.", session_id=task.session_id)
    (told,) = answered(model)["scheduled_tasks"]
    assert told["how_often"] == "every weekday at 09:00 (Europe/Berlin)" and "T09:00:00+0" in told["next_at"]
    assert "now" in answered(model)
    say(person, model, call("cancel_scheduled_task", id=task.pk), "Gone.", session_id=task.session_id)
    assert answered(model) == {"status": "cancelled", "id": task.pk, "task": WATER}
    say(person, model, call("cancel_scheduled_task", id=task.pk + 1), "No.", session_id=task.session_id)
    assert answered(model)["error"].endswith("Those to come: none.")


def test_the_time_zone_of_the_person_counts_when_none_is_named(person: User, model: ScriptedModel) -> None:
    session, _ = say(person, model, "Hello.")
    run(lambda: _remember_zone(session, "Asia/Tokyo"))
    say(person, model, call("schedule_task", task=WATER, every="0 9 * * *"), "I will.", session_id=session.pk)
    task = ScheduledTask.objects.get()
    assert task.time_zone == "Asia/Tokyo" and task.next_at is not None and task.next_at.hour == 0
    instruction = str(model.requests[-1].config.system_instruction)
    assert "+09:00, in the time zone Asia/Tokyo" in instruction


async def _remember_zone(session: Session, zone: str) -> None:
    service = DjangoSessionService()
    known = await service.get_session(
        app_name=session.app_name, user_id=str(session.user_id), session_id=session.key
    )
    assert known is not None
    event = RuntimeEvent(author="user")
    event.actions.state_delta["user:time_zone"] = zone
    await service.append_event(known, event)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({}, "Neither 'run_at' nor 'every'"),
        ({"run_at": "2031-05-01T09:00"}, "no offset"),
        ({"run_at": "2001-05-01T09:00Z"}, "is past"),
        ({"every": "fortnight"}, "a number and a unit"),
        ({"every": "30 seconds"}, "more often than this site allows"),
        ({"every": "day", "most_runs": 0}, "Give 1 or more"),
        ({"every": "day", "ends_at": "in 1 hour"}, "Give a later 'ends_at'"),
        ({"every": "day", "time_zone": "Mars/Base"}, "IANA"),
        ({"every": "day", "task": "  "}, "The task is empty"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_with_a_remedy(
    person: User, model: ScriptedModel, args: dict[str, Any], told: str
) -> None:
    say(person, model, call("schedule_task", **{"task": WATER, **args}), "I see.")
    assert told in answered(model)["error"]
    assert not ScheduledTask.objects.exists()


def test_a_session_has_so_many_and_no_more(person: User, model: ScriptedModel) -> None:
    limit = conf().schedules_per_session
    session, _ = say(
        person,
        model,
        [call("schedule_task", f"c{n}", task=f"task {n}", every="day") for n in range(limit + 1)],
        "I will.",
    )
    assert ScheduledTask.objects.filter(session=session).count() == limit
    refused = [part.function_response.response for part in model.requests[-1].contents[-1].parts]
    assert [response["error"] for response in refused if "error" in response] == [
        f"Nothing was scheduled. {limit} tasks are scheduled in this conversation, as many as it may have. "
        "Cancel one of them first."
    ]


def test_an_agent_that_is_a_tool_cannot_schedule_and_is_told_why(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = ScriptedModel(turns=[call("schedule_task", task=WATER, every="day"), "It is not possible."])
    helper = LlmAgent(name="helper", model=inner, description="Helps.", tools=[schedule_task])
    agent = LlmAgent(name="gardener", model=model, tools=[AgentTool(helper)])
    monkeypatch.setattr(agent_registry, "apps", lambda: {"garden": App(name="garden", root_agent=agent)})
    say(person, model, call("helper", request="schedule"), "No.")
    assert "conversations that the site keeps" in answered(inner)["error"]


def test_the_person_cancels_a_task_and_it_does_not_come(person: User, model: ScriptedModel) -> None:
    task = scheduled(person, model, every="day")
    make_due(task)
    for _ in range(2):
        run(lambda: use_cases.cancel_schedule(person, task.session_id, task.pk))
    fire_due()
    assert client_ids(task) == []
    task.refresh_from_db()
    assert (task.status, task.cancelled_by) == ("cancelled", person)


def test_somebody_elses_task_is_not_found(
    person: User, model: ScriptedModel, django_user_model: type[User]
) -> None:
    task = scheduled(person, model, every="day")
    other = scheduled(person, model, every="day")
    stranger = django_user_model.objects.create(username="eve")
    for user, session_id in ((stranger, task.session_id), (person, other.session_id)):
        with pytest.raises(NotFoundError):
            run(lambda user=user, at=session_id: use_cases.cancel_schedule(user, at, task.pk))
    assert ScheduledTask.objects.active().count() == 2


def test_going_back_to_before_a_call_cancels_what_it_scheduled_and_nothing_else(
    person: User, model: ScriptedModel
) -> None:
    first = scheduled(person, model, every="day")
    schedule = call("schedule_task", task="another", every="day")
    _, second = say(person, model, schedule, "I will.", session_id=first.session_id)
    run(lambda: go_back(person, first.session_id, second))
    assert [(task.task, task.status) for task in ScheduledTask.objects.order_by("id")] == [
        (WATER, "active"),
        ("another", "cancelled"),
    ]


def test_what_was_undone_does_not_come_though_whoever_undid_it_died_before_it_was_cancelled(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = scheduled(person, model, every="day")
    monkeypatch.setattr(rewind, "reconcile_after_rewind", AsyncMock())
    run(lambda: go_back(person, task.session_id, task.invocation_id))
    make_due(task)
    fire_due()
    task.refresh_from_db()
    assert (task.status, client_ids(task)) == ("cancelled", [])


def test_the_tasks_of_a_session_go_with_it(person: User, model: ScriptedModel) -> None:
    task = scheduled(person, model, every="day")
    make_due(task)
    task.session.delete()
    fire_due()
    assert not ScheduledTask.objects.exists()


def test_a_task_that_cannot_come_does_not_hold_up_the_others(
    person: User, model: ScriptedModel, caplog: pytest.LogCaptureFixture
) -> None:
    broken, other = scheduled(person, model, every="day"), scheduled(person, model, every="day")
    ScheduledTask.objects.filter(pk=broken.pk).update(every="nonsense", next_at=timezone.now())
    make_due(other)
    fire_due()
    assert len(client_ids(other)) == 1
    assert f"Scheduled task {broken.pk}" in caplog.text


def test_text_parts_of_the_message_are_the_task_as_it_was_scheduled() -> None:
    """A person's message of the same words is not taken for one."""
    content = types.UserContent(parts=[types.Part(text=IT_IS_TIME), types.Part(text=WATER)])
    said = RuntimeEvent(author="user", content=content)
    assert "You" in render_event(UUID(int=1), 1, said)
