"""Contract: nothing begins in a deleted session; responses of jobs and due tasks arrive once after a restore."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import NotFoundError
from sessions_app.jobs import job_tool
from sessions_app.jobs.cancel import cancel_job
from sessions_app.models import Invocation, JobStatus, ScheduledTask, Session, SessionAct, ToolJob
from sessions_app.process import threads
from sessions_app.process.pool import database_now
from sessions_app.process.threads import in_thread
from sessions_app.scheduling import firing
from sessions_app.tasks import sweep
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import (
    clerk_with,
    last_responses,
    responses,
    run_queue,
    run_task,
    sweep_jobs,
    talk,
)
from tests.integration.locks import blocked, held
from tests.integration.scheduling.schedule_helpers import fire_due_tasks
from tests.served_agents import Served


@job_tool
def count_stock(shelf: str) -> dict[str, Any]:
    """Count what is on a shelf.

    Args:
        shelf: Name of the shelf.
    """
    return {"counted": 3, "shelf": shelf}


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch, broker: list[tuple[str, str]]) -> None:
    """Send nothing to workers: the tests run the jobs and queues themselves."""
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)
    monkeypatch.setattr("sessions_app.tasks.request_session_run", lambda session_id: None)


@pytest.fixture
def model(served: Served, person: User, background_end: None) -> ScriptedModel:
    return clerk_with(count_stock, served)


@pytest.fixture
def job(person: User, model: ScriptedModel) -> ToolJob:
    """A queued job of a session whose invocation waits for the job."""
    model.turns = [call("count_stock", shelf="A"), "I am counting."]
    return ToolJob.objects.get(session=talk(person, "reports", "Count, please."))


def change(person: User, session: Session, what: str) -> None:
    threads.run(use_cases.change_session(actors.person(person), session.pk, what))


def add_due_task(session: Session) -> ScheduledTask:
    return ScheduledTask.objects.create(
        session=session, call_id="c-1", task="Water.", start_at=timezone.now(), next_at=threads.run(database_now()),
        time_zone="UTC",
    )  # fmt: skip


@pytest.mark.usefixtures("death_after_act")
def test_a_session_is_deleted_together_with_the_act_or_not_at_all(person: User, job: ToolJob) -> None:
    with pytest.raises(ProcessLookupError):
        change(person, job.session, "delete")
    assert not Session.objects.exclude(deleted_at=None).exists()
    assert not SessionAct.objects.exists()


async def test_a_deletion_and_a_restoration_at_once_with_its_like_leave_one_act_each(
    person: User, loop_end: None
) -> None:
    session = await Session.objects.acreate(app_name="reports", user=person, key="k")
    for change in ("delete", "restore"):
        async with held("SELECT FROM sessions_app_session FOR UPDATE"):
            changes = [
                asyncio.create_task(use_cases.change_session(actors.person(person), session.pk, change))
                for _ in range(2)
            ]
            await blocked(2)
        await asyncio.gather(*changes)
        assert await SessionAct.objects.filter(action=change).acount() == 1


def test_a_message_to_a_deleted_session_is_refused_until_the_session_is_restored(
    person: User, job: ToolJob
) -> None:
    change(person, job.session, "delete")
    with pytest.raises(NotFoundError, match="There is no such chat here"):
        threads.run(use_cases.send_message(actors.person(person), job.session_id, "m2", "Hello?"))
    assert not Invocation.objects.filter(client_id="m2").exists()
    change(person, job.session, "restore")
    threads.run(use_cases.send_message(actors.person(person), job.session_id, "m2", "Hello?"))
    assert Invocation.objects.filter(client_id="m2").exists()


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_job_that_ends_while_its_session_is_deleted_is_answered_once_after_the_restore(
    person: User, model: ScriptedModel, job: ToolJob, is_cancelled: bool
) -> None:
    change(person, job.session, "delete")
    if is_cancelled:
        cancel_job(job.pk, by=actors.person(person))
    run_task(job)
    sweep()
    job.refresh_from_db()
    assert job.is_ended and job.delivered_at is None
    assert not Invocation.objects.exclude(client_id="m1").exists()
    change(person, job.session, "restore")
    sweep()
    sweep()
    model.turns = ["There are three."]
    run_queue(job.session_id)
    assert len(responses(job.session)) == 1
    status = JobStatus.CANCELLED if is_cancelled else JobStatus.SUCCEEDED
    assert last_responses(model)[0]["status"] == status.value
    assert Invocation.objects.get(client_id="m1").status == "completed"


def test_a_task_that_is_due_while_its_session_is_deleted_fires_once_after_the_restore(
    person: User, job: ToolJob
) -> None:
    task = add_due_task(job.session)
    change(person, job.session, "delete")
    sweep()
    task.refresh_from_db()
    assert (task.status, task.runs) == ("active", 0)
    change(person, job.session, "restore")
    sweep()
    sweep()
    task.refresh_from_db()
    assert (task.status, task.runs) == ("over", 1)
    assert Invocation.objects.filter(client_id=f"schedule:{task.pk}:1").count() == 1


@pytest.mark.usefixtures("background_end")
def test_what_waits_in_deleted_sessions_takes_no_time_from_a_sweep(
    person: User, configure: Callable[..., None]
) -> None:
    configure(sweep_seconds=0)  # time for one row
    deleted, kept = (Session.objects.create(app_name="reports", user=person, key=key) for key in "ab")
    tasks = [add_due_task(session) for session in (deleted, kept)]
    names = {"call_id": "c-2", "tool_name": "count_stock", "task_name": "t"}
    for session in (deleted, kept):
        ToolJob.objects.create(session=session, status=JobStatus.SUCCEEDED, result={}, **names)
    change(person, deleted, "delete")
    fire_due_tasks()
    sweep_jobs()
    queued = Invocation.objects.order_by("pk").values_list("session", "client_id")
    assert list(queued) == [(kept.pk, f"schedule:{tasks[1].pk}:1"), (kept.pk, f"job:{kept.jobs.get().pk}")]


@pytest.mark.usefixtures("loop_end")
async def test_a_task_stays_due_whose_session_is_deleted_while_the_task_fires(person: User) -> None:
    session = await Session.objects.acreate(app_name="reports", user=person, key="s-1")
    task = await in_thread(add_due_task, session)
    async with held(f"UPDATE sessions_app_session SET deleted_at = now() WHERE id = '{session.pk}'"):
        fired = asyncio.create_task(in_thread(fire_due_tasks))
        await blocked(1)
    await fired
    await task.arefresh_from_db()
    assert (task.status, task.runs) == ("active", 0)
    assert not await Invocation.objects.aexists()
