"""Retries of a job: increasing delays, during which the sweep does not send the job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.jobs import job_tool
from sessions_app.models import JobStatus, ToolJob
from sessions_app.process import celery_dispatch, threads
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, responses, run_queue, run_task, sweep_jobs, talk
from tests.served_agents import Served

MAX_RETRIES = 4


@job_tool(retry_on=(OSError,), max_retries=MAX_RETRIES)
def fetch_archive(year: int) -> dict[str, Any]:
    """Fetch it."""
    raise OSError("the archive does not answer")


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    return clerk_with(fetch_archive, served)


@pytest.fixture
def job(person: User, model: ScriptedModel, broker: list[tuple[str, str]]) -> ToolJob:
    """A job that was sent an hour ago."""
    model.turns = [call("fetch_archive", year=1999), "It is on its way."]
    session_id = talk(person, "reports", "fetch the archive")
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(created_at=long_ago, sent_at=long_ago)
    broker.clear()
    return ToolJob.objects.select_related("session").get(session_id=session_id)


def run_until_retry(job: ToolJob) -> float:
    """Run the job, which fails, and return the seconds until Celery retries it."""
    with pytest.raises(Retry) as retry:
        run_task(job)
    assert isinstance(retry.value.when, float)
    return retry.value.when


def test_delays_increase_and_the_sweep_does_not_send_the_job_during_a_delay(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    delays = []
    for _ in range(MAX_RETRIES):
        delays.append(run_until_retry(job))
        sweep_jobs()
    assert broker == []
    assert delays == sorted(delays) and delays[-1] >= 4 * delays[0]
    run_task(job)
    model.turns = ["It did not work."]
    run_queue(job.session_id)
    job.refresh_from_db()
    assert (job.status, job.attempts) == (JobStatus.FAILED, MAX_RETRIES + 1)
    assert [response["response"]["status"] for response in responses(job.session)] == ["error"]


def test_the_sweep_sends_a_job_again_when_its_retry_is_long_overdue(
    job: ToolJob, broker: list[tuple[str, str]]
) -> None:
    run_until_retry(job)
    ToolJob.objects.update(sent_at=timezone.now() - timedelta(minutes=2))
    sweep_jobs()
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]


def test_a_late_mark_as_sent_does_not_shorten_the_delay(job: ToolJob) -> None:
    run_until_retry(job)
    job.refresh_from_db()
    due = job.sent_at

    async def mark(job_id: UUID) -> None:
        await celery_dispatch.mark_sent(job_id)

    threads.run(mark(job.pk))
    job.refresh_from_db()
    assert due is not None and job.sent_at == due
