"""Contract: a time limit or a cancellation ends a job that would not end by itself, and the job runs only once.

The tests use a real Celery worker with the SIGTERM behaviour of `deploy/run`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from celery import current_app
from django.contrib.auth.models import User

from sessions_app.base import actors
from sessions_app.jobs.cancel import cancel_job
from sessions_app.jobs.repairs import job_repairs
from sessions_app.models import Event, Invocation, JobStatus, ToolJob
from sessions_app.process import threads
from sessions_app.process.sweeping import sweep_over
from sessions_app.shutdown import shut_down
from tests.integration.jobs.job_helpers import responses, talk
from tests.served_agents import Served
from tests.stack.limited.agents import app
from tests.stack.limited.worker import limited_worker

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("celery")]

TIMEOUT_SECONDS = 120.0  # the worker starts at the same time
TOOK_TOO_LONG = "The job exceeded its time limit."
CANCELLED = "The job was cancelled."
STOPPED = "The job was stopped by staff."


@pytest.fixture(scope="module")
def celery(django_db_setup: None) -> Iterator[None]:
    with limited_worker():
        yield


@pytest.fixture
def run_log(tmp_path: Path) -> Path:
    """File with one line for each run of the job's function."""
    return tmp_path / "runs"


@pytest.fixture
def start_job(transactional_db: None, served: Served, run_log: Path) -> Iterator[Callable[[str], ToolJob]]:
    """Function that makes the agent call a job tool, and returns the job."""
    served(app)
    people = (User.objects.create_user(name) for name in ("ada", "ben"))

    def start(tool: str) -> ToolJob:
        session_id = talk(next(people), "limited", f"{tool} {run_log}")
        return ToolJob.objects.select_related("session").get(session_id=session_id)

    yield start
    threads.run(shut_down())


def wait_until(condition: Callable[[], object], job: ToolJob) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"still {job.status} at attempt {job.attempts}: {job.error!r}"
        time.sleep(0.05)
        job.refresh_from_db()


def wait_until_answered(job: ToolJob) -> None:
    wait_until(lambda: not Invocation.objects.exclude(status="completed").exists(), job)
    job.refresh_from_db()


def outcome(job: ToolJob) -> tuple[JobStatus, str, list[str], str]:
    """Return the job's status and error, the statuses of its function responses, and the agent's last text."""
    last_text = Event.objects.filter(session=job.session).latest("seq").text or ""
    statuses = [response["response"]["status"] for response in responses(job.session)]
    return JobStatus(job.status), job.error, statuses, last_text


@pytest.mark.parametrize("tool", ["soft_limited", "hard_limited"])
def test_a_job_that_exceeds_its_time_limit_fails_and_does_not_run_again(
    start_job: Callable[[str], ToolJob], run_log: Path, tool: str
) -> None:
    job = start_job(tool)
    wait_until_answered(job)
    assert outcome(job) == (JobStatus.FAILED, TOOK_TOO_LONG, ["error"], f"error: {TOOK_TOO_LONG}")
    assert (job.attempts, run_log.read_text()) == (1, "started\n")


def test_10_a_job_that_never_reports_progress_ends_when_it_is_cancelled(
    start_job: Callable[[str], ToolJob], run_log: Path
) -> None:
    job = start_job("unlimited")
    wait_until(run_log.exists, job)
    cancel_job(job.pk, by=actors.person(job.session.user))
    wait_until_answered(job)
    assert outcome(job) == (JobStatus.CANCELLED, CANCELLED, ["cancelled"], f"cancelled: {CANCELLED}")
    assert (job.attempts, run_log.read_text()) == (1, "started\n")


def test_a_job_that_swallows_its_cancellation_is_ended_by_force_and_no_other_job_with_it(
    start_job: Callable[[str], ToolJob], run_log: Path
) -> None:
    other = start_job("unlimited")
    job = start_job("stubborn")
    staff = User.objects.create_user("grace", is_staff=True)
    wait_until(lambda: run_log.exists() and run_log.read_text().count("started") == 2, job)
    other.refresh_from_db()
    cancel_job(job.pk, by=actors.staff(staff, "192.0.2.1"), reason="It loops")
    wait_until(lambda: sweep_over(job_repairs()) or job.delivered_at, job)  # type: ignore[func-returns-value]
    wait_until(
        lambda: not Invocation.objects.filter(session=job.session).exclude(status="completed").exists(), job
    )
    assert outcome(job) == (JobStatus.CANCELLED, STOPPED, ["cancelled"], f"cancelled: {STOPPED}")
    assert "its process was killed" in job.error_detail
    with pytest.raises(ProcessLookupError):  # no zombie either: its parent has replaced it
        wait_until(lambda: os.kill(int(job.worker.rpartition(" ")[2]), 0), job)
    before = other.worker, other.attempts
    other.refresh_from_db()
    assert (other.status, other.worker, other.attempts) == (JobStatus.RUNNING, *before)
    cancel_job(other.pk, by=actors.person(other.session.user))
    wait_until_answered(other)


def test_a_job_survives_the_cancelled_job_that_an_earlier_parent_ran_in_a_process_of_the_same_number(
    start_job: Callable[[str], ToolJob], run_log: Path
) -> None:
    job = start_job("unlimited")
    wait_until(run_log.exists, job)
    job.refresh_from_db()
    left = ToolJob.objects.get(pk=job.pk)
    left.pk, left.call_id, left.cancel_requested_at = uuid4(), "earlier", job.created_at - timedelta(hours=1)
    left.save(force_insert=True)
    sweep_over(job_repairs())
    assert current_app.control.ping(
        timeout=TIMEOUT_SECONDS, limit=1
    )  # the worker has read what the sweep sent
    left.refresh_from_db()
    assert left.status == JobStatus.RUNNING
    left.delete()
    before = job.worker, job.attempts
    cancel_job(job.pk, by=actors.person(job.session.user))
    wait_until_answered(job)
    assert (job.status, job.worker, job.attempts) == (JobStatus.CANCELLED, *before)


def test_a_cancelled_job_of_an_mcp_tool_cancels_the_call_on_the_server(
    start_job: Callable[[str], ToolJob], run_log: Path
) -> None:
    job = start_job("slow")
    wait_until(run_log.exists, job)
    wait_until(lambda: job.progress_message == "begun", job)
    cancel_job(job.pk, by=actors.person(job.session.user))
    wait_until_answered(job)
    assert outcome(job) == (JobStatus.CANCELLED, CANCELLED, ["cancelled"], f"cancelled: {CANCELLED}")
    wait_until(lambda: run_log.read_text() == "started\ncancelled\n", job)
