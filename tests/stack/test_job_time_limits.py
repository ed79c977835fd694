"""Contract: a job that does not end by itself is ended, once, by its limits or by whoever cancels it.

A real Celery worker, as `deploy/run` stops it: at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from sessions_app import agent_registry
from sessions_app.db import threads
from sessions_app.jobs.cancel import cancel_job
from sessions_app.models import Event, Invocation, JobStatus, ToolJob
from sessions_app.shutdown import shut_down
from tests.benchmarks.celery_worker import celery_worker
from tests.integration.job_helpers import responses, talk
from tests.stack import database
from tests.stack.limited.agents import app

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("celery")]

PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def celery(django_db_setup: None) -> Iterator[None]:
    with celery_worker("tests.stack.limited.settings", REMAP_SIGTERM="SIGQUIT", **database.of_the_tests()):
        yield


@pytest.fixture
def begin(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[[str], ToolJob]]:
    """Has the agent start a job; each run of its function is a line in `diary`."""
    monkeypatch.setattr(agent_registry, "apps", lambda: {"limited": app})
    person = User.objects.create_user("ada")

    def start(tool: str) -> ToolJob:
        session_id = talk(person, "limited", f"{tool} {tmp_path / 'diary'}")
        return ToolJob.objects.select_related("session").get(session_id=session_id)

    yield start
    threads.run(shut_down())


def until(holds: Callable[[], object], job: ToolJob) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"still {job.status} at attempt {job.attempts}: {job.error!r}"
        time.sleep(0.05)
        job.refresh_from_db()


def until_answered(job: ToolJob) -> None:
    until(lambda: not Invocation.objects.exclude(status="completed").exists(), job)
    job.refresh_from_db()


def what_came_of(job: ToolJob) -> tuple[JobStatus, str, list[str], str]:
    """The job, what its call was answered with, and what the agent said then."""
    said = Event.objects.filter(session=job.session).latest("seq").text or ""
    answered = [response["response"]["status"] for response in responses(job.session)]
    return JobStatus(job.status), job.error, answered, said


def test_a_function_is_told_of_its_soft_limit_and_has_failed(
    begin: Callable[[str], ToolJob], tmp_path: Path
) -> None:
    job = begin("be_told")
    until_answered(job)
    error = "The job exceeded its time limit."
    assert what_came_of(job) == (JobStatus.FAILED, error, ["error"], f"error: {error}")
    assert (job.attempts, (tmp_path / "diary").read_text()) == (1, "begun\n")


def test_a_function_that_is_killed_for_its_limit_has_failed_once_and_is_not_run_again(
    begin: Callable[[str], ToolJob], tmp_path: Path
) -> None:
    job = begin("be_killed")
    until_answered(job)
    error = "The job exceeded its time limit."
    assert what_came_of(job) == (JobStatus.FAILED, error, ["error"], f"error: {error}")
    assert (job.attempts, (tmp_path / "diary").read_text()) == (1, "begun\n")


def test_a_function_that_never_says_how_far_it_is_ends_when_the_job_is_cancelled(
    begin: Callable[[str], ToolJob], tmp_path: Path
) -> None:
    job = begin("be_silent")
    until((tmp_path / "diary").exists, job)
    cancel_job(job.pk, by=job.session.user_id)
    until_answered(job)
    error = "The job was cancelled."
    assert what_came_of(job) == (JobStatus.CANCELLED, error, ["cancelled"], f"cancelled: {error}")
    assert (job.attempts, (tmp_path / "diary").read_text()) == (1, "begun\n")
