"""Sweeps: long backlogs are worked off in one sweep, sends to the broker are bounded, and no failure stops the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app import models, tasks
from sessions_app.jobs import repairs
from sessions_app.models import Invocation, ScheduledTask, ToolJob
from sessions_app.process import sweeping, threads
from sessions_app.process.pool import database_now
from sessions_app.scheduling import firing
from sessions_app.store.sql import leases, session_lease
from sessions_app.tasks import sweep
from tests.integration.chat.pages.page_helpers import add_event
from tests.integration.jobs.job_helpers import sweep_jobs
from tests.integration.locks import blocked, held
from tests.integration.scheduling.schedule_helpers import fire_due_tasks
from tests.integration.session_helpers import claim_invocation, create_session, session_row

BACKLOG = 2 * sweeping.BATCH_SIZE + 20


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firing, "offer_session", lambda session_id: None)
    monkeypatch.setattr(tasks, "request_session_run", lambda session_id: None)


@pytest.fixture
def session(person: User, background_end: None) -> models.Session:
    return models.Session.objects.create(app_name="garden", user=person, key="s1")


def add_due_tasks(session: models.Session, count: int) -> None:
    now = threads.run(database_now())
    ScheduledTask.objects.bulk_create(
        ScheduledTask(
            session=session, call_id=f"c{n}", task="Water.", start_at=now, next_at=now, time_zone="UTC"
        )
        for n in range(count)
    )


def add_jobs(session: models.Session, count: int, **values: object) -> None:
    ToolJob.objects.bulk_create(
        ToolJob(session=session, call_id=f"j{n}", task_name=f"task{n}", status="queued", **values)
        for n in range(count)
    )


def test_one_sweep_fires_a_backlog_of_many_batches(
    session: models.Session, configure: Callable[..., None]
) -> None:
    configure(sweep_seconds=300)
    add_due_tasks(session, BACKLOG)
    fire_due_tasks()
    assert Invocation.objects.filter(client_id__startswith="schedule:").count() == BACKLOG
    assert not ScheduledTask.objects.active().exists()


def test_a_sweep_leaves_to_the_next_one_what_does_not_fit_in_its_time(
    session: models.Session, configure: Callable[..., None]
) -> None:
    configure(sweep_seconds=0)
    add_due_tasks(session, 3)
    for left in (2, 1, 0):
        fire_due_tasks()
        assert ScheduledTask.objects.active().count() == left


def test_one_sweep_sends_a_backlog_of_unsent_jobs_once(
    session: models.Session, configure: Callable[..., None], broker: list[tuple[str, str]]
) -> None:
    configure(sweep_seconds=300)
    add_jobs(session, BACKLOG)
    ToolJob.objects.update(created_at=timezone.now() - timedelta(hours=1))
    sweep_jobs()
    assert len(broker) == len(set(broker)) == BACKLOG


def test_the_pause_before_a_job_is_sent_again_doubles(
    session: models.Session, configure: Callable[..., None], broker: list[tuple[str, str]]
) -> None:
    configure(job_resend_seconds=60)
    add_jobs(session, 1)
    ToolJob.objects.update(created_at=timezone.now() - timedelta(hours=1))
    sweep_jobs()
    for number, pause in enumerate((60, 120, 240), start=1):
        for age, sent in ((pause - 10, number), (pause + 10, number + 1)):
            ToolJob.objects.update(sent_at=threads.run(database_now()) - timedelta(seconds=age))
            sweep_jobs()
            assert len(broker) == sent


def test_a_job_that_cannot_be_sent_holds_up_neither_other_jobs_nor_scheduled_tasks(
    session: models.Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent = []

    def send(job_id: UUID, task_name: str) -> None:
        if task_name == "task0":
            raise RuntimeError("no such queue")
        sent.append(task_name)

    monkeypatch.setattr(repairs, "send_job", send)
    add_jobs(session, 2)
    ToolJob.objects.update(created_at=timezone.now() - timedelta(hours=1))
    add_due_tasks(session, 1)
    sweep()
    assert sent == ["task1"] and not ScheduledTask.objects.active().exists()
    assert "no such queue" in caplog.text


def queue_message(pk: UUID) -> str:
    """Return a statement that queues a message as `enqueue` does: under the lock of the session's row."""
    return f"""
        WITH s AS (SELECT id FROM sessions_app_session WHERE id = '{pk}' FOR UPDATE)
        INSERT INTO sessions_app_invocation (session_id, invocation_id, client_id, message, status, owner, attempts)
        SELECT id, 'e-late', 'late', '{{}}', 'queued', '', 0 FROM s"""


def test_a_broker_that_is_away_keeps_no_interrupted_rewind_from_being_finished(
    person: User, background_end: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(session_id: UUID) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks, "request_session_run", refuse)
    for key in ("s1", "s2"):
        session = models.Session.objects.create(app_name="garden", user=person, key=key)
        add_event(session, "Water.", author="user", invocationId="e-1")
        add_event(session, author="user", invocationId="e-2", actions={"rewindBeforeInvocationId": "e-1"})
        add_jobs(session, 1)
        threads.run(session_lease.acquire(session.pk, owner="dead", lease_seconds=-1))
    sweep()
    assert {job.status for job in ToolJob.objects.all()} == {"cancelled"}


@pytest.mark.usefixtures("loop_end")
async def test_an_end_that_waits_for_a_message_to_be_queued_sees_the_message(person: User) -> None:
    claim = await claim_invocation(await create_session(person))
    async with held(queue_message(claim.session_id)):
        ending = asyncio.create_task(leases.finish(claim, status="completed"))
        await blocked(1)
    finished = await ending
    assert finished is not None and finished.more_is_queued


@pytest.mark.usefixtures("loop_end")
async def test_a_release_that_waits_for_a_message_to_be_queued_sees_the_message(person: User) -> None:
    pk = (await session_row(await create_session(person))).pk
    token = await session_lease.acquire(pk, owner="one", lease_seconds=60)
    assert token is not None
    async with held(queue_message(pk)):
        release = asyncio.create_task(session_lease.release(pk, token))
        await blocked(1)
    assert await release
