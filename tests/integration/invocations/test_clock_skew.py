"""Clocks of machines differ: the database's clock decides what is due, late or lost."""

from __future__ import annotations

import time
from datetime import timedelta
from uuid import UUID

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.jobs import job_tool
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.process import threads
from sessions_app.process.pool import database_now
from sessions_app.scheduling import firing, schedule_task
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, run_task, sweep_jobs, talk
from tests.integration.scheduling.schedule_helpers import (
    fire_due_tasks,
    run_client_ids,
    run_invocations,
    schedule,
)
from tests.served_agents import Served


@job_tool(retry_on=(OSError,))
def count_bees(hive: str) -> str:
    """Count them."""
    raise OSError("the hive is closed")


@job_tool(delayable=True)
def count_wasps(nest: str) -> str:
    """Count them."""
    return "many"


def shift_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock of this process, but not the database's, be ahead by `seconds`."""
    now, time_now = timezone.now, time.time
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(seconds=seconds))
    monkeypatch.setattr(time, "time", lambda: time_now() + seconds)


@pytest.fixture
def gardener(
    monkeypatch: pytest.MonkeyPatch, served: Served, person: User, background_end: None
) -> ScriptedModel:
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)
    scripted = ScriptedModel()
    agent = LlmAgent(name="gardener", model=scripted, tools=[schedule_task])
    served(App(name="garden", root_agent=agent))
    return scripted


def start_job(person: User, model: ScriptedModel, name: str, **args: str) -> ToolJob:
    model.turns = [call(name, **args), "It is on its way."]
    session_id: UUID = talk(person, "reports", "count")
    return ToolJob.objects.get(session_id=session_id)


def test_a_sweep_whose_clock_is_ahead_declares_no_live_job_lost(
    person: User,
    broker: list[tuple[str, str]],
    background_end: None,
    monkeypatch: pytest.MonkeyPatch,
    served: Served,
) -> None:
    job = start_job(person, clerk_with(count_bees, served), "count_bees", hive="north")
    now = threads.run(database_now())
    ToolJob.objects.update(status="running", attempts=1, heartbeat_at=now - timedelta(seconds=6))
    shift_clock(monkeypatch, 15)
    sweep_jobs()
    job.refresh_from_db()
    assert (job.status, job.attempts) == ("running", 1)


def test_a_sweep_whose_clock_is_ahead_sends_no_job_too_early(
    person: User,
    broker: list[tuple[str, str]],
    background_end: None,
    monkeypatch: pytest.MonkeyPatch,
    served: Served,
) -> None:
    start_job(person, clerk_with(count_bees, served), "count_bees", hive="north")
    ToolJob.objects.update(sent_at=None)
    broker.clear()
    shift_clock(monkeypatch, 15)
    sweep_jobs()
    assert broker == []


def test_the_delay_of_a_retry_counts_from_the_time_of_the_database(
    person: User,
    broker: list[tuple[str, str]],
    background_end: None,
    monkeypatch: pytest.MonkeyPatch,
    served: Served,
) -> None:
    job = start_job(person, clerk_with(count_bees, served), "count_bees", hive="north")
    shift_clock(monkeypatch, 600)
    with pytest.raises(Retry):
        run_task(job)
    job.refresh_from_db()
    assert job.sent_at is not None
    assert job.sent_at < threads.run(database_now()) + timedelta(seconds=60)


@pytest.mark.parametrize("seconds", [-3, 15])
def test_a_worker_whose_clock_is_off_runs_each_time_once(
    person: User, gardener: ScriptedModel, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    task = schedule(person, gardener, every="60 seconds")
    due = threads.run(database_now()) - timedelta(seconds=1)
    ScheduledTask.objects.update(start_at=due - timedelta(minutes=1), next_at=due)
    shift_clock(monkeypatch, seconds)
    for _ in range(3):
        fire_due_tasks()
        run_invocations(task.session_id, gardener, "Done.")
    assert run_client_ids(task) == [f"schedule:{task.pk}:1"]
    task.refresh_from_db()
    assert task.next_at == due + timedelta(minutes=1)


@pytest.mark.parametrize("seconds", [-600, 600])
def test_a_delay_counts_from_the_time_of_the_database(
    person: User,
    gardener: ScriptedModel,
    broker: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    served: Served,
    seconds: float,
) -> None:
    now = threads.run(database_now())
    shift_clock(monkeypatch, seconds)
    task = schedule(person, gardener, run_at="in 5 minutes")
    assert task.next_at is not None
    job = start_job(
        person, clerk_with(count_wasps, served), "count_wasps", nest="north", run_at="in 5 minutes"
    )
    assert job.run_at is not None
    for moment in (task.next_at, job.run_at):
        assert abs(moment - now - timedelta(minutes=5)) < timedelta(minutes=1)
