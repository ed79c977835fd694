"""Jobs whose process was killed, whose worker died, or that nobody may begin any more: each ends, once, and it is told.

With a real worker: tests/stack/test_job_time_limits.py.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.jobs import job_tool, time_limit
from sessions_app.jobs.run import process_name
from sessions_app.jobs.sweeper import MOST_ATTEMPTS, sweep_jobs
from sessions_app.jobs.time_limit import end_overdue
from sessions_app.live.frames import JobFrame, Notice
from sessions_app.live.hub import Hub
from sessions_app.models import JobStatus, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.job_helpers import clerk_with, responses, run_queue, run_task, talk

RUNS: list[str] = []
TOO_LONG = "The job took longer than it may."


@job_tool(time_limit=60)
def count_ants(hill: str) -> dict[str, Any]:
    """Count them."""
    RUNS.append(hill)
    return {"ants": 7}


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch, person: User, broker: list[tuple[str, str]], background_end: None
) -> ScriptedModel:
    RUNS.clear()
    monkeypatch.setattr(time_limit, "send_sweep", lambda: None)  # the tests sweep
    return clerk_with(count_ants, monkeypatch)


@pytest.fixture
def job(person: User, model: ScriptedModel, broker: list[tuple[str, str]]) -> ToolJob:
    """A job of an hour ago; process 7 is at it."""
    model.turns = [call("count_ants", hill="north"), "It is on its way."]
    session_id = talk(person, "reports", "count the ants")
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(
        status=JobStatus.RUNNING,
        attempts=1,
        worker=process_name("jobs@here", 7),
        created_at=long_ago,
        sent_at=long_ago,
        heartbeat_at=timezone.now(),
    )
    broker.clear()
    return ToolJob.objects.select_related("session").get(session_id=session_id)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, job: ToolJob) -> list[tuple[str, str]]:
    """Status and error of the job, as those who watch are told."""
    notices: list[tuple[str, str]] = []

    def note(hub: Hub, session_id: object, notice: Notice) -> None:
        if isinstance(notice, JobFrame):
            notices.append((notice.status, notice.error))

    monkeypatch.setattr(Hub, "publish_notice", note)
    return notices


def lose(**changed: Any) -> None:
    """Nobody has heard of the job's worker for long."""
    ToolJob.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1), **changed)


def answers(job: ToolJob, model: ScriptedModel) -> list[dict[str, Any]]:
    """What the model is told, after all that is queued has run."""
    model.turns = ["I see."]
    run_queue(job.session_id)
    return [response["response"] for response in responses(job.session)]


def test_a_job_whose_process_was_killed_for_its_limit_has_failed_and_is_not_tried_again(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]], told: list[tuple[str, str]]
) -> None:
    end_overdue(job.pk, process_name("jobs@here", 7))
    for _ in range(2):
        sweep_jobs()
        run_task(job)
    assert told == [("failed", TOO_LONG)]
    assert answers(job, model) == [{"status": "error", "error": TOO_LONG}]
    assert RUNS == [] and broker == []


def test_a_process_that_is_killed_late_does_not_end_the_attempt_that_has_taken_over(job: ToolJob) -> None:
    end_overdue(job.pk, process_name("jobs@here", 8))
    job.refresh_from_db()
    assert job.status == JobStatus.RUNNING and not job.error


def test_a_job_that_was_to_be_stopped_when_its_process_was_killed_is_cancelled(
    job: ToolJob, model: ScriptedModel
) -> None:
    ToolJob.objects.update(cancel_requested_at=timezone.now(), cancelled_by=job.session.user)
    end_overdue(job.pk, process_name("jobs@here", 7))
    sweep_jobs()
    assert answers(job, model) == [{"status": "cancelled", "error": "The job was cancelled."}]


def test_a_row_names_the_process_that_is_at_the_job(job: ToolJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 4711)
    ToolJob.objects.update(status=JobStatus.QUEUED)
    run_task(job)
    job.refresh_from_db()
    assert job.worker.endswith("process 4711")


def test_who_watches_is_told_that_the_worker_died_and_the_job_is_sent_again(
    job: ToolJob, broker: list[tuple[str, str]], told: list[tuple[str, str]]
) -> None:
    lose()
    sweep_jobs()
    assert told == [("queued", "The worker died; the job is tried again.")]
    assert broker == [(str(job.pk), job.task_name)]


def test_a_job_at_which_workers_die_again_and_again_fails_and_the_model_is_told_once(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]], told: list[tuple[str, str]]
) -> None:
    error = f"The worker died at attempt {MOST_ATTEMPTS}; the job is not tried again."
    lose(attempts=MOST_ATTEMPTS)
    for _ in range(2):
        sweep_jobs()
        run_task(job)
    assert set(told) == {("failed", error)}
    assert answers(job, model) == [{"status": "error", "error": error}]
    assert RUNS == [] and broker == []


def test_a_job_of_a_call_that_was_undone_ends_with_its_worker(job: ToolJob, model: ScriptedModel) -> None:
    lose(delivered_at=timezone.now())
    sweep_jobs()
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED and job.finished_at is not None
    assert answers(job, model) == []


def test_a_job_that_was_to_be_stopped_ends_without_a_worker_which_would_drop_what_was_revoked(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    lose(cancel_requested_at=timezone.now(), cancelled_by=job.session.user)
    sweep_jobs()
    assert answers(job, model) == [{"status": "cancelled", "error": "The job was cancelled."}]
    assert RUNS == [] and broker == []
