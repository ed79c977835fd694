"""Long-running tools as Celery jobs: each call is answered once, whatever happens to its worker (contract T5)."""

from __future__ import annotations

import signal
import time
from datetime import timedelta
from typing import Any

import pytest
from billiard.pool import soft_timeout_sighandler
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.utils import timezone

from runtime import types
from runtime.errors import ConfigurationError
from runtime.tools import ToolContext
from sessions_app.base import actors
from sessions_app.chat.server_frames import notice_fields
from sessions_app.jobs import job_tool, progress, run, save_artifact
from sessions_app.jobs.cancel import cancel_job
from sessions_app.live.hub import Hub
from sessions_app.live.notices import JobNotice, Notice, job_notice
from sessions_app.models import Artifact, Event, Invocation, JobStatus, Session, ToolJob
from sessions_app.rendering.session_view import SITE_READER
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
from tests.served_agents import Served

RUNS: list[str] = []


@job_tool(retry_on=(OSError,), max_retries=1, delayable=True)
def write_report(topic: str, pages: int = 1) -> dict[str, Any]:
    """Write a report.

    Args:
        topic: What on.
    """
    RUNS.append(topic)
    progress(1, 4, "Reading")
    if topic == "cancelled, then unreachable":
        ToolJob.objects.update(cancel_requested_at=timezone.now())
    if topic.endswith("unreachable"):
        raise OSError("the archive does not answer")
    if topic == "broken":
        raise ValueError("no such data")
    if topic == "unprinted":
        return {"status": "failed", "reason": "The printer is out of paper."}
    if topic == "unprinted at length":
        return {"status": "failed", "reason": "No paper. " * 10_000}
    if topic == "huge":
        return {"text": "x" * 100_000}
    if topic == "drawn":
        return {"cover": types.Part.from_bytes(data=b"png", mime_type="image/png")}
    if topic == "cancelled meanwhile":
        ToolJob.objects.update(cancel_requested_at=timezone.now())
        for _ in range(10_000):
            time.sleep(0.01)
            progress(2, 4, "Writing")
    version = save_artifact("report.txt", types.Part(text=f"{pages} page(s) on {topic}"))
    return {"summary": f"all of {topic}", "version": version}


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    RUNS.clear()
    return clerk_with(write_report, served)


def start_job(person: User, model: ScriptedModel, **args: Any) -> tuple[Session, ToolJob]:
    """Let the model call the tool in a new session."""
    model.turns = [call("write_report", **args), "It is on its way."]
    session = Session.objects.get(pk=talk(person, "reports", "a report, please"))
    return session, ToolJob.objects.get(session=session)


def run_invocations(session: Session, model: ScriptedModel, text: str = "Here it is.") -> None:
    """Run the queued invocations of the session; the model says `text`."""
    model.turns = [text]
    run_queue(session.pk)


def test_a_job_is_created_with_the_event_that_records_its_call_and_answered_once(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = start_job(person, model, topic="ants", pages=2)
    assert job.status == JobStatus.QUEUED and job.args == {"topic": "ants", "pages": 2}
    assert broker == [(str(job.pk), job.task_name)]
    assert Invocation.objects.get(client_id="m1").status == "waiting"
    run_task(job)
    run_invocations(session, model)
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED and job.artifacts == {"report.txt": 0}
    (response,) = responses(session)
    assert response["id"] == job.call_id
    assert response["response"] == {"status": "succeeded", "summary": "all of ants", "version": 0}
    assert Event.objects.filter(session=session).latest("seq").text == "Here it is."
    assert Invocation.objects.get(client_id="m1").status == "completed"
    assert Artifact.objects.get(session=session).filename == "report.txt"


def test_a_picture_of_a_job_is_a_file_that_the_model_sees(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="drawn")
    run_task(job)
    run_invocations(session, model)
    job.refresh_from_db()
    [(name, version)] = job.artifacts.items()
    assert name.startswith("write_report-") and name.endswith("-1.png") and version == 0
    (response,) = responses(session)
    cover = {"mimeType": "image/png", "file": name, "version": 0}
    assert response["response"] == {"status": "succeeded", "cover": cover}
    data = [part.inline_data for content in model.requests[-1].contents for part in content.parts or []]
    assert types.Blob(data=b"png", mime_type="image/png") in data


def test_a_job_that_is_delivered_again_and_again_runs_and_answers_once(
    person: User, model: ScriptedModel
) -> None:
    session, job = start_job(person, model, topic="ants")
    for _ in range(3):
        run_task(job)
        run_invocations(session, model)
    assert RUNS == ["ants"]
    assert len(responses(session)) == 1


def test_t5_invalid_arguments_are_refused_immediately_without_a_job(
    person: User, model: ScriptedModel
) -> None:
    model.turns = [call("write_report", pages="many"), "I need a topic."]
    session_id = talk(person, "reports", "a report")
    assert not ToolJob.objects.filter(session_id=session_id).exists()
    assert Event.objects.filter(session_id=session_id).latest("seq").text == "I need a topic."


def test_a_failure_reaches_the_model_as_an_error(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="broken")
    run_task(job)
    run_invocations(session, model, "That failed.")
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED and "no such data" in job.error_detail
    assert responses(session)[0]["response"]["status"] == "error"


def test_t5_a_result_with_the_status_failed_is_a_failed_job_and_reaches_the_model(
    person: User, model: ScriptedModel
) -> None:
    session, job = start_job(person, model, topic="unprinted")
    run_task(job)
    run_invocations(session, model, "No paper.")
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED
    expected = {"status": "failed", "reason": "The printer is out of paper."}
    assert responses(session)[0]["response"] == expected


def test_a_large_result_with_the_status_failed_is_a_file_and_still_a_failure(
    person: User, model: ScriptedModel
) -> None:
    session, job = start_job(person, model, topic="unprinted at length")
    run_task(job)
    run_invocations(session, model, "No paper.")
    response = responses(session)[0]["response"]
    assert response["status"] == "failed"
    assert Artifact.objects.filter(filename=response["file"]).exists()


def test_an_error_of_retry_on_is_retried_then_delivered(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="unreachable")
    with pytest.raises(Retry):
        run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.QUEUED and "does not answer" in job.error_detail and not responses(session)
    run_task(job)
    run_invocations(session, model)
    job.refresh_from_db()
    assert (job.status, job.attempts, job.most_attempts) == (JobStatus.FAILED, 2, 2)
    assert [phase["name"] for phase in job.phases] == ["Reading"]  # of the last attempt only
    assert responses(session)[0]["response"]["error"] == "The job failed."


def test_a_large_result_becomes_a_file(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="huge")
    run_task(job)
    run_invocations(session, model)
    response = responses(session)[0]["response"]
    assert len(str(response)) < 2_000
    assert Artifact.objects.get(session=session).filename == response["file"]


def test_a_queued_job_is_cancelled_immediately_and_the_model_receives_a_response(
    person: User, model: ScriptedModel
) -> None:
    session, job = start_job(person, model, topic="ants")
    cancel_job(job.pk, by=actors.person(person))
    run_task(job)
    run_invocations(session, model)
    assert RUNS == []
    assert responses(session)[0]["response"]["status"] == "cancelled"


def test_progress_interrupts_a_running_job_that_is_cancelled(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="cancelled meanwhile")
    run_task(job)
    run_invocations(session, model)
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED
    assert not Artifact.objects.filter(session=session).exists()


@pytest.mark.parametrize(
    ("signalled_at", "outcome", "runs"),
    [(JobStatus.RUNNING, JobStatus.FAILED, []), (JobStatus.SUCCEEDED, JobStatus.SUCCEEDED, ["ants"])],
)
def test_a_soft_limit_signal_interrupts_the_function_and_not_the_code_around_it(
    person: User,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    signalled_at: JobStatus,
    outcome: JobStatus,
    runs: list[str],
) -> None:
    _, job = start_job(person, model, topic="ants")

    def signal_when_published(job: ToolJob) -> None:
        if job.status == signalled_at:
            signal.raise_signal(signal.SIGUSR1)

    monkeypatch.setattr(run, "publish_job", signal_when_published)
    handler_before = signal.signal(signal.SIGUSR1, soft_timeout_sighandler)  # as in a Celery process
    try:
        run_task(job)
        assert signal.getsignal(signal.SIGUSR1) is soft_timeout_sighandler
    finally:
        signal.signal(signal.SIGUSR1, handler_before)
    job.refresh_from_db()
    assert (job.status, RUNS) == (outcome, runs)
    assert job.delivered_at is not None


def test_a_stop_by_staff_is_delivered_once_and_the_row_records_who_and_why(
    person: User, model: ScriptedModel
) -> None:
    session, job = start_job(person, model, topic="ants")
    staff = User.objects.create(username="staff")
    cancel_job(job.pk, by=actors.staff(staff, ""), reason="Too many ants")
    cancel_job(job.pk, by=actors.person(person))
    run_task(job)
    run_invocations(session, model)
    job.refresh_from_db()
    assert (job.cancelled_by, job.cancel_reason) == (staff, "Too many ants")
    (response,) = responses(session)
    assert response["response"] == {"status": "cancelled", "error": "The job was stopped by staff."}


def test_a_cancelled_job_whose_worker_died_is_not_run_again(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="ants")
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(status=JobStatus.RUNNING, attempts=1, heartbeat_at=long_ago, created_at=long_ago)
    cancel_job(job.pk, by=actors.person(person))
    sweep_jobs()
    run_task(job)
    run_invocations(session, model)
    assert RUNS == []
    assert [response["response"]["status"] for response in responses(session)] == ["cancelled"]


def test_a_cancelled_job_is_not_retried(person: User, model: ScriptedModel) -> None:
    session, job = start_job(person, model, topic="cancelled, then unreachable")
    run_task(job)
    run_invocations(session, model)
    assert [response["response"]["status"] for response in responses(session)] == ["cancelled"]


def test_the_sweep_sends_a_job_that_a_crash_left_unsent(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    _, job = start_job(person, model, topic="ants")
    broker.clear()
    ToolJob.objects.update(sent_at=None, created_at=timezone.now() - timedelta(minutes=1))
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    sweep_jobs()
    assert len(broker) == 1


def test_a_delayed_job_is_sent_at_its_start_time(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = start_job(person, model, topic="ants", run_at="in 2 hours")
    assert job.run_at is not None and timezone.now() < job.run_at and job.args == {"topic": "ants"}
    assert "Waiting until" in notice_fields(job_notice(job), SITE_READER)["html"]
    ToolJob.objects.update(created_at=timezone.now() - timedelta(hours=1))
    sweep_jobs()
    assert broker == []
    ToolJob.objects.update(run_at=timezone.now())
    for _ in range(2):
        sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    run_task(job)
    run_invocations(session, model)
    assert [response["response"]["summary"] for response in responses(session)] == ["all of ants"]


def test_a_delayed_job_can_be_cancelled_before_it_starts_and_is_answered_once(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = start_job(person, model, topic="ants", run_at="in 2 hours")
    for _ in range(2):
        cancel_job(job.pk, by=actors.person(person))
    ToolJob.objects.update(run_at=timezone.now())
    sweep_jobs()
    run_task(job)
    run_invocations(session, model)
    assert broker == [] and RUNS == []
    assert [response["response"]["status"] for response in responses(session)] == ["cancelled"]


@pytest.mark.parametrize(
    ("run_at", "error"),
    [
        ("2031-05-01T09:00", "no offset"),
        ("2001-05-01T09:00+00:00", "is in the past"),
        ("tomorrow", "not a valid time"),
    ],
)
def test_an_invalid_start_time_is_refused_with_an_explanation(
    person: User, model: ScriptedModel, run_at: str, error: str
) -> None:
    model.turns = [call("write_report", topic="ants", run_at=run_at), "I see."]
    talk(person, "reports", "a report")
    (response,) = last_responses(model)
    assert error in response["error"] and "now" in response["error"]
    assert not ToolJob.objects.exists()


def test_the_first_notice_of_a_job_equals_its_fields_after_a_reload(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[Notice] = []
    monkeypatch.setattr(Hub, "publish_notice", lambda hub, session_id, notice: published.append(notice))
    _, job = start_job(person, model, topic="ants", run_at="in 2 hours")
    (first,) = [notice for notice in published if isinstance(notice, JobNotice)]
    assert first == job_notice(job)


def test_only_a_delayable_tool_declares_a_start_time() -> None:
    def count(run_at: str) -> str:
        """Count."""
        return run_at

    declared = job_tool(count)._get_declaration().parameters
    assert declared is not None and declared.required == ["run_at"]
    declared = write_report._get_declaration().parameters
    assert declared is not None and declared.properties is not None
    assert "ISO 8601" in (declared.properties["run_at"].description or "")
    assert declared.required == ["topic"]
    with pytest.raises(ConfigurationError, match="Rename its own parameter"):
        job_tool(delayable=True)(count)


def test_11_the_sweep_queues_the_job_of_a_dead_worker_again(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = start_job(person, model, topic="ants")
    broker.clear()
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(status=JobStatus.RUNNING, attempts=1, heartbeat_at=long_ago, created_at=long_ago)
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    run_task(job)
    job.refresh_from_db()
    assert (job.status, job.attempts, job.lost_attempts) == (JobStatus.SUCCEEDED, 2, 1)
    assert len(responses(session)) == 0  # queued, not yet run
    run_invocations(session, model)
    assert len(responses(session)) == 1


def test_the_sweep_answers_a_job_that_a_crash_left_unanswered(person: User, model: ScriptedModel) -> None:
    session, _job = start_job(person, model, topic="ants")
    ToolJob.objects.update(status=JobStatus.SUCCEEDED, result={"summary": "done"}, finished_at=timezone.now())
    sweep_jobs()
    sweep_jobs()
    run_invocations(session, model)
    assert [response["response"]["summary"] for response in responses(session)] == ["done"]


def test_an_async_function_cannot_be_a_job_tool() -> None:
    async def count() -> int:
        """Count."""
        return 1

    with pytest.raises(ConfigurationError, match=r"'count' is an async function.*as_job\(FunctionTool"):
        job_tool(count)


def test_a_job_tool_cannot_take_a_tool_context() -> None:
    def needs_context(tool_context: ToolContext) -> str:
        """No."""
        return ""

    with pytest.raises(ConfigurationError, match="runs in a worker"):
        job_tool(needs_context)


def test_save_artifact_needs_a_job() -> None:
    with pytest.raises(ConfigurationError, match="only inside a job"):
        save_artifact("x.txt", types.Part(text="x"))
