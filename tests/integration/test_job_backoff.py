"""A job that is tried again waits, longer each time, and nobody sends it before (docs/long-running-jobs.md)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.db import leases, threads
from sessions_app.jobs import job_tool
from sessions_app.jobs.sweeper import sweep_jobs
from sessions_app.models import JobStatus, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.job_helpers import clerk_with, responses, run_queue, run_task, talk

MOST_RETRIES = 4


@job_tool(retry_on=(OSError,), max_retries=MOST_RETRIES)
def fetch_archive(year: int) -> dict[str, Any]:
    """Fetch it."""
    raise OSError("the archive does not answer")


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch, person: User, broker: list[tuple[str, str]], background_end: None
) -> ScriptedModel:
    return clerk_with(fetch_archive, monkeypatch)


@pytest.fixture
def job(person: User, model: ScriptedModel, broker: list[tuple[str, str]]) -> ToolJob:
    """A job that was sent an hour ago, so long does it take."""
    model.turns = [call("fetch_archive", year=1999), "It is on its way."]
    session_id = talk(person, "reports", "fetch the archive")
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(created_at=long_ago, sent_at=long_ago)
    broker.clear()
    return ToolJob.objects.select_related("session").get(session_id=session_id)


def seconds_until_next(job: ToolJob) -> float:
    """The job fails; so long is it until Celery gives it to a worker again."""
    with pytest.raises(Retry) as retry:
        run_task(job)
    assert isinstance(retry.value.when, float)
    return retry.value.when


def test_attempts_lie_further_and_further_apart_and_the_sweep_does_not_send_the_job_before(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    waits = []
    for _ in range(MOST_RETRIES):
        waits.append(seconds_until_next(job))
        sweep_jobs()
    assert broker == []
    assert waits == sorted(waits) and waits[-1] >= 4 * waits[0]
    run_task(job)
    model.turns = ["It did not work."]
    run_queue(job.session_id)
    job.refresh_from_db()
    assert (job.status, job.attempts) == (JobStatus.FAILED, MOST_RETRIES + 1)
    assert [response["response"]["status"] for response in responses(job.session)] == ["error"]


def test_a_job_that_was_lost_while_it_waited_is_sent_again_when_its_time_is_long_past(
    job: ToolJob, broker: list[tuple[str, str]]
) -> None:
    seconds_until_next(job)
    ToolJob.objects.update(sent_at=timezone.now() - timedelta(minutes=2))
    sweep_jobs()
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]


def test_who_notes_late_that_a_job_was_sent_does_not_shorten_the_wait(job: ToolJob) -> None:
    seconds_until_next(job)
    job.refresh_from_db()
    due = job.sent_at

    async def note(job_id: UUID) -> None:
        await leases.mark_sent(job_id)

    threads.run(note(job.pk))
    job.refresh_from_db()
    assert due is not None and job.sent_at == due
