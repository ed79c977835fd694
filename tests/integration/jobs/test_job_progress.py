"""Progress of a job: few writes, the last value always written, and invalid numbers shown as indeterminate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from math import inf, nan
from typing import Any
from uuid import uuid4

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from sessions_app.chat.server_frames import notice_fields
from sessions_app.jobs import job_tool, progress
from sessions_app.jobs.report import MAX_PHASES, with_phase
from sessions_app.live.notices import job_notice
from sessions_app.models import JobStatus, ToolJob
from sessions_app.rendering.session_view import SITE_READER
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, run_task, talk
from tests.served_agents import Served

PAGES = 10_000
MAX_UPDATES = 20
NOT_FINITE = {
    "done is NaN": (nan, 10),
    "total is NaN": (1, nan),
    "done is infinite": (inf, 10),
    "total is": (1, -inf),
}


@job_tool(retry_on=(OSError,))
def write_book(end: str = "") -> dict[str, Any]:
    """Write a book."""
    for page in range(1, PAGES + 1):
        progress(page, PAGES, f"Page {page}")
    if end == "fails":
        raise ValueError("no ink")
    if end == "is retried":
        raise OSError("no paper")
    if end in NOT_FINITE:
        progress(*NOT_FINITE[end], end)
    return {}


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    return clerk_with(write_book, served)


@pytest.fixture
def updates(model: ScriptedModel) -> Iterator[list[str]]:
    """Updates of jobs by connections that are opened during the test, such as the reporter's."""
    statements: list[str] = []

    def record(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('UPDATE "sessions_app_tooljob"'):
            statements.append(sql)
        return execute(sql, *rest)

    def watch(connection: BaseDatabaseWrapper, **_: object) -> None:
        connection.execute_wrappers.append(record)

    connection_created.connect(watch)
    yield statements
    connection_created.disconnect(watch)


def run_job(person: User, model: ScriptedModel, **args: Any) -> ToolJob:
    model.turns = [call("write_book", **args), "It is on its way."]
    job = ToolJob.objects.get(session_id=talk(person, "reports", "a book, please"))
    with suppress(Retry):
        run_task(job)
    job.refresh_from_db()
    return job


@pytest.mark.parametrize(
    ("end", "status"),
    [("", JobStatus.SUCCEEDED), ("fails", JobStatus.FAILED), ("is retried", JobStatus.QUEUED)],
)
def test_thousands_of_steps_cause_few_updates_and_the_last_one_is_always_written(
    person: User, model: ScriptedModel, updates: list[str], end: str, status: JobStatus
) -> None:
    job = run_job(person, model, end=end)
    assert job.status == status
    assert (job.progress_done, job.progress_total, job.progress_message) == (PAGES, PAGES, f"Page {PAGES}")
    assert [phase["name"] for phase in job.phases] == [f"Page {PAGES}"]
    assert 1 <= len(updates) < MAX_UPDATES


def test_messages_that_differ_in_more_than_numbers_are_phases_with_the_time_of_their_begin() -> None:
    begins = [datetime(2026, 11, 21, 12, 0, second, tzinfo=UTC) for second in range(5)]
    phases: list[dict[str, Any]] = []
    for message, begin in zip(("Page 1", "Page 20", "", "Binding", "Binding"), begins, strict=True):
        phases = with_phase(phases, message, begin)
    assert phases == [
        {"name": "Page 20", "at": begins[0].isoformat()},
        {"name": "Binding", "at": begins[3].isoformat()},
    ]
    for length in range(1, 2 * MAX_PHASES):
        phases = with_phase(phases, "x" * length, begins[4])
    assert len(phases) == MAX_PHASES and phases[-1]["name"] == "x" * length


@pytest.mark.parametrize("end", list(NOT_FINITE))
def test_numbers_that_are_not_finite_are_stored_as_unknown_progress(
    person: User, model: ScriptedModel, end: str
) -> None:
    job = run_job(person, model, end=end)
    assert (job.status, job.attempts) == (JobStatus.SUCCEEDED, 1)
    assert (job.progress_done, job.progress_total, job.progress_message) == (0, 0, end)


@pytest.mark.parametrize(
    ("done", "total", "percent"),
    [
        (nan, 10.0, None),
        (1.0, nan, None),
        (inf, 10.0, None),
        (1.0, inf, None),
        (1.0, 0.0, None),
        (1e308, 1e-308, 100),
        (-5.0, 10.0, 0),
        (5.0, 8.0, 62),
    ],
)
def test_the_card_shows_a_percentage_or_an_indeterminate_bar_for_every_stored_number(
    done: float, total: float, percent: int | None
) -> None:
    job = ToolJob(status=JobStatus.RUNNING, progress_done=done, progress_total=total, session_id=uuid4())
    notice = job_notice(job)
    assert notice.percent == percent
    assert ("value=" in notice_fields(notice, SITE_READER)["html"]) == (percent is not None)
