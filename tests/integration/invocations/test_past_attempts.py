"""Attempts that failed, were handed over or died stay in the row, each with its error; staff read them as a list."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.models import LlmResponse
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.jobs import job_tool
from sessions_app.models import Invocation, Session, ToolJob
from sessions_app.store.sql import leases
from sessions_app.store.sql.leases import Claim
from tests.fakes import ScriptedModel, call
from tests.integration.admin.audit_rows import HOSTILE
from tests.integration.invocations.test_error_details import page, staff_with
from tests.integration.jobs.job_helpers import clerk_with, run_task, sweep_jobs, talk
from tests.integration.session_helpers import claim_invocation, create_session, take_over
from tests.served_agents import Served

PASSWORD = "hunter2hunter2"
FAILURES: list[Exception] = []


@job_tool(retry_on=(OSError,), max_retries=2)
def fetch(url: str) -> str:
    """Fetch a page."""
    if FAILURES:
        raise FAILURES.pop(0)
    return "fetched"


@pytest.fixture
def job(person: User, served: Served, broker: list[tuple[str, str]], background_end: None) -> ToolJob:
    FAILURES.clear()
    model = clerk_with(fetch, served)
    model.turns = [call("fetch", url="x"), "I am fetching it."]
    return ToolJob.objects.get(session_id=talk(person, "reports", "fetch it"))


def attempts(row: ToolJob | Invocation) -> list[tuple[Any, Any]]:
    row.refresh_from_db()
    return [(attempt["number"], attempt["error"]) for attempt in row.past_attempts]


def test_each_failed_attempt_of_a_job_is_listed_with_its_error_for_staff_with_the_permission(
    job: ToolJob,
) -> None:
    FAILURES.extend([OSError(f"password={PASSWORD} {HOSTILE} one"), OSError("two")])
    for _ in range(2):
        with pytest.raises(Retry):
            run_task(job)
    run_task(job)
    retried = "The job failed. It will be retried."
    assert attempts(job) == [(1, retried), (2, retried)]
    assert (job.status, job.error, job.error_detail) == ("succeeded", "", "")
    plain = page(staff_with("plain", "view_tooljob"), "tooljob", job.pk)
    reader = page(staff_with("reader", "view_tooljob", "view_text"), "tooljob", job.pk)
    trusted = page(staff_with("trusted", "view_tooljob", "view_text", "view_error_detail"), "tooljob", job.pk)
    assert retried not in plain and "OSError" not in plain
    assert reader.count(retried) == 2 and "OSError" not in reader
    assert "OSError: two" in trusted and HOSTILE not in trusted and PASSWORD not in trusted
    assert job.worker in plain


def test_an_attempt_whose_worker_died_is_listed(job: ToolJob) -> None:
    past = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(status="running", attempts=1, worker="jobs@far process 7", heartbeat_at=past)
    sweep_jobs()
    run_task(job)
    assert attempts(job) == [(1, "The worker died; the job will be retried.")]
    assert job.past_attempts[0]["worker"] == "jobs@far process 7"


@pytest.mark.usefixtures("loop_end")
async def test_each_failed_attempt_of_an_invocation_is_listed_after_its_retry(
    person: User, served: Served
) -> None:
    model = ScriptedModel()
    served(LlmAgent(name="echo", model=model))
    model.turns = [ConnectionError("one"), LlmResponse(error_code="BUSY", error_message="Two."), "Hello."]
    session = await use_cases.create_session(person, "echo")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
    await worker().wait_until_idle()
    for _ in range(2):
        await use_cases.retry(actors.person(person), session.pk, invocation_id)
        await worker().wait_until_idle()
    row = await Invocation.objects.aget(session=session)
    first, second = row.past_attempts
    assert (row.status, first["error"].partition(":")[0], second["error"]) == (
        "completed", "ConnectionError", "BUSY: Two.",
    )  # fmt: skip
    assert "Traceback" in first["detail"]
    trusted = await sync_to_async(staff_with)("trusted", "view_invocation", "view_text", "view_error_detail")
    assert "ConnectionError: one" in await sync_to_async(page)(trusted, "invocation", row.pk)


async def claim(person: User) -> Claim:
    return await claim_invocation(await create_session(person))


@pytest.mark.usefixtures("loop_end")
async def test_attempts_that_were_handed_over_or_died_are_listed(person: User) -> None:
    first = await claim(person)
    await leases.hand_over(first)
    second = await leases.claim_next(first.session_id, owner="two", lease_seconds=60)
    assert second
    await take_over(second, owner="three")
    row = await Invocation.objects.aget()
    told = [(attempt["number"], attempt["worker"], attempt["error"]) for attempt in row.past_attempts]
    assert told == [(1, "one", "The process was shut down."), (2, "two", "The process died.")]


def test_a_stop_that_was_asked_for_has_a_badge_until_the_end(person: User, client: Any) -> None:
    session = Session.objects.create(app_name="echo", user=person, key="s-1")
    names = {"session": session, "invocation_id": "e-1", "cancel_requested_at": timezone.now()}
    row = Invocation.objects.create(client_id="m", message={}, status="running", **names)
    job = ToolJob.objects.create(call_id="c", tool_name="t", status="running", **names)
    staff = staff_with("plain", "view_invocation", "view_tooljob")
    badge = 'data-status="stop requested"'
    assert badge in page(staff, "invocation", row.pk) and badge in page(staff, "tooljob", job.pk)
    Invocation.objects.update(status="cancelled")
    ToolJob.objects.update(status="cancelled")
    assert badge not in page(staff, "invocation", row.pk) + page(staff, "tooljob", job.pk)
