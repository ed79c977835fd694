"""Jobs whose process was killed, whose worker died, or that were cancelled: each ends once and is answered once.

tests/stack/test_job_time_limits.py covers time limits with a real worker.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.base import actors
from sessions_app.conf import conf
from sessions_app.jobs import cancel, forced_end, job_tool
from sessions_app.jobs.forced_end import KILL, end_killed_job
from sessions_app.jobs.repairs import MAX_ATTEMPTS
from sessions_app.jobs.run import process_name
from sessions_app.live.hub import Hub
from sessions_app.live.notices import JobNotice, Notice
from sessions_app.models import JobStatus, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, responses, run_queue, run_task, sweep_jobs, talk
from tests.served_agents import Served

RUNS: list[str] = []
TIMED_OUT = "The job exceeded its time limit."


@job_tool(time_limit=60)
def count_ants(hill: str) -> dict[str, Any]:
    """Count them."""
    RUNS.append(hill)
    return {"ants": 7}


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch,
    served: Served,
    person: User,
    broker: list[tuple[str, str]],
    background_end: None,
) -> ScriptedModel:
    RUNS.clear()
    monkeypatch.setattr(forced_end, "offer_sweep", lambda: None)  # the tests sweep
    return clerk_with(count_ants, served)


@pytest.fixture
def job(person: User, model: ScriptedModel, broker: list[tuple[str, str]]) -> ToolJob:
    """A job of an hour ago that runs in process 7."""
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
def published(monkeypatch: pytest.MonkeyPatch, job: ToolJob) -> list[tuple[str, str]]:
    """Status and error of each job notice to the connections of the session."""
    notices: list[tuple[str, str]] = []

    def record(hub: Hub, session_id: object, notice: Notice) -> None:
        if isinstance(notice, JobNotice):
            notices.append((notice.status, notice.error))

    monkeypatch.setattr(Hub, "publish_notice", record)
    return notices


def expire_heartbeat(**changed: Any) -> None:
    """Make the last heartbeat an hour old."""
    ToolJob.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1), **changed)


def delivered_responses(job: ToolJob, model: ScriptedModel) -> list[dict[str, Any]]:
    """Run the queue and return the function responses of the job."""
    model.turns = ["I see."]
    run_queue(job.session_id)
    return [response["response"] for response in responses(job.session)]


def test_a_job_whose_process_was_killed_for_its_time_limit_fails_and_is_not_retried(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]], published: list[tuple[str, str]]
) -> None:
    end_killed_job(job.pk, process_name("jobs@here", 7))
    for _ in range(2):
        sweep_jobs()
        run_task(job)
    assert published == [("failed", TIMED_OUT)]
    assert delivered_responses(job, model) == [{"status": "error", "error": TIMED_OUT}]
    assert RUNS == [] and broker == []


def test_a_process_that_is_killed_late_does_not_end_a_later_attempt(job: ToolJob) -> None:
    end_killed_job(job.pk, process_name("jobs@here", 8))
    job.refresh_from_db()
    assert job.status == JobStatus.RUNNING and not job.error


def test_a_job_with_a_cancel_request_is_cancelled_when_its_process_is_killed(
    job: ToolJob, model: ScriptedModel
) -> None:
    ToolJob.objects.update(cancel_requested_at=timezone.now(), cancelled_by=job.session.user)
    end_killed_job(job.pk, process_name("jobs@here", 7))
    sweep_jobs()
    assert delivered_responses(job, model) == [{"status": "cancelled", "error": "The job was cancelled."}]


def test_the_row_names_the_process_that_runs_the_job(job: ToolJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 4711)
    ToolJob.objects.update(status=JobStatus.QUEUED)
    run_task(job)
    job.refresh_from_db()
    assert job.worker.endswith("process 4711")


def test_a_job_whose_worker_died_is_published_and_sent_again(
    job: ToolJob, broker: list[tuple[str, str]], published: list[tuple[str, str]]
) -> None:
    expire_heartbeat()
    sweep_jobs()
    assert published == [("queued", "The worker died; the job will be retried.")]
    assert broker == [(str(job.pk), job.task_name)]


def test_a_job_fails_after_the_last_worker_died_and_is_answered_once(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]], published: list[tuple[str, str]]
) -> None:
    error = f"The worker died in attempt {MAX_ATTEMPTS}; the job will not be retried."
    expire_heartbeat(attempts=MAX_ATTEMPTS)
    for _ in range(2):
        sweep_jobs()
        run_task(job)
    assert set(published) == {("failed", error)}
    assert delivered_responses(job, model) == [{"status": "error", "error": error}]
    assert RUNS == [] and broker == []


def test_a_job_of_a_rewound_call_is_cancelled_when_its_worker_dies(
    job: ToolJob, model: ScriptedModel
) -> None:
    expire_heartbeat(delivered_at=timezone.now())
    sweep_jobs()
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED and job.finished_at is not None
    assert delivered_responses(job, model) == []


def test_a_job_with_a_cancel_request_is_ended_by_the_sweep_because_workers_drop_revoked_tasks(
    job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    expire_heartbeat(cancel_requested_at=timezone.now(), cancelled_by=job.session.user)
    sweep_jobs()
    assert delivered_responses(job, model) == [{"status": "cancelled", "error": "The job was cancelled."}]
    assert RUNS == [] and broker == []


def test_a_cancelled_job_that_goes_on_is_ended_by_force_within_five_seconds(
    job: ToolJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeps: list[float] = []
    monkeypatch.setattr(cancel, "offer_sweep", sweeps.append)
    monkeypatch.setattr(current_app.control, "revoke", lambda *args, **kwargs: None)
    cancel.cancel_job(job.pk, by=actors.person(job.session.user))
    [seconds] = sweeps
    assert conf().cancel_grace_seconds < seconds < 5
    killed: list[str] = []
    monkeypatch.setattr(current_app.control, "broadcast", lambda command, arguments: killed.append(command))
    requested = timezone.now() - timedelta(seconds=seconds)
    ToolJob.objects.update(cancel_requested_at=requested, heartbeat_at=timezone.now())
    sweep_jobs()
    assert killed == [KILL]


def test_workers_are_asked_to_end_a_job_by_force_only_while_it_has_a_heartbeat(
    job: ToolJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(current_app.control, "broadcast", lambda command, arguments: asked.append(arguments))
    ToolJob.objects.update(cancel_requested_at=timezone.now() - timedelta(hours=1))
    sweep_jobs()
    assert asked == [{"job_id": str(job.pk), "process": job.worker}]
    expire_heartbeat()
    sweep_jobs()
    assert len(asked) == 1
