"""Long-running tools as Celery jobs: each call is answered once, whatever happens to its worker (design.md, T5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User
from django.utils import timezone

from runtime import types
from runtime.errors import ConfigurationError
from runtime.tools import ToolContext
from sessions_app import jobs
from sessions_app.jobs import job_tool, progress, save_artifact
from sessions_app.jobs.cancel import cancel_job
from sessions_app.jobs.sweeper import sweep_jobs
from sessions_app.live.frames import JobFrame, Notice
from sessions_app.live.hub import Hub
from sessions_app.live.notices import job_notice
from sessions_app.models import Artifact, Event, Invocation, JobStatus, Session, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.job_helpers import clerk_with, responses, run_queue, run_task, talk

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
    if topic == "huge":
        return {"text": "x" * 100_000}
    if topic == "cancelled meanwhile":
        ToolJob.objects.update(cancel_requested_at=timezone.now())
        for _ in range(10_000):
            jobs.report.time.sleep(0.01)
            progress(2, 4, "Writing")
    version = save_artifact("report.txt", types.Part(text=f"{pages} page(s) on {topic}"))
    return {"summary": f"all of {topic}", "version": version}


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch, person: User, broker: list[tuple[str, str]], background_end: None
) -> ScriptedModel:
    RUNS.clear()
    return clerk_with(write_report, monkeypatch)


def ask(person: User, model: ScriptedModel, **args: Any) -> tuple[Session, ToolJob]:
    """A conversation in which the model called the tool."""
    model.turns = [call("write_report", **args), "It is on its way."]
    session = Session.objects.get(pk=talk(person, "reports", "a report, please"))
    return session, ToolJob.objects.get(session=session)


def let_answer(session: Session, model: ScriptedModel, text: str = "Here it is.") -> None:
    """A worker runs what is queued in the session."""
    model.turns = [text]
    run_queue(session.pk)


def test_a_job_is_created_with_the_event_that_records_its_call_and_answered_once(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = ask(person, model, topic="ants", pages=2)
    assert job.status == JobStatus.QUEUED and job.args == {"topic": "ants", "pages": 2}
    assert broker == [(str(job.pk), job.task_name)]
    assert Invocation.objects.get(client_id="m1").status == "waiting"
    run_task(job)
    let_answer(session, model)
    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED and job.artifacts == {"report.txt": 0}
    (response,) = responses(session)
    assert response["id"] == job.call_id
    assert response["response"] == {"status": "succeeded", "summary": "all of ants", "version": 0}
    assert Event.objects.filter(session=session).latest("seq").text == "Here it is."
    assert Invocation.objects.get(client_id="m1").status == "completed"
    assert Artifact.objects.get(session=session).filename == "report.txt"


def test_a_job_that_is_delivered_again_and_again_runs_and_answers_once(
    person: User, model: ScriptedModel
) -> None:
    session, job = ask(person, model, topic="ants")
    for _ in range(3):
        run_task(job)
        let_answer(session, model)
    assert RUNS == ["ants"]
    assert len(responses(session)) == 1


def test_wrong_arguments_are_refused_at_once_and_make_no_job(person: User, model: ScriptedModel) -> None:
    """T5."""
    model.turns = [call("write_report", pages="many"), "I need a topic."]
    session_id = talk(person, "reports", "a report")
    assert not ToolJob.objects.filter(session_id=session_id).exists()
    assert Event.objects.filter(session_id=session_id).latest("seq").text == "I need a topic."


def test_a_failure_reaches_the_model_as_an_error(person: User, model: ScriptedModel) -> None:
    session, job = ask(person, model, topic="broken")
    run_task(job)
    let_answer(session, model, "That failed.")
    job.refresh_from_db()
    assert job.status == JobStatus.FAILED and "no such data" in job.error
    assert responses(session)[0]["response"]["status"] == "error"


def test_a_declared_error_is_retried_then_told(person: User, model: ScriptedModel) -> None:
    session, job = ask(person, model, topic="unreachable")
    with pytest.raises(Retry):
        run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.QUEUED and "does not answer" in job.error and not responses(session)
    run_task(job)
    let_answer(session, model)
    job.refresh_from_db()
    assert (job.status, job.attempts) == (JobStatus.FAILED, 2)
    assert "does not answer" in responses(session)[0]["response"]["error"]


def test_a_large_result_becomes_a_file(person: User, model: ScriptedModel) -> None:
    session, job = ask(person, model, topic="huge")
    run_task(job)
    let_answer(session, model)
    response = responses(session)[0]["response"]
    assert len(str(response)) < 2_000
    assert Artifact.objects.get(session=session).filename == response["file"]


def test_a_queued_job_is_cancelled_at_once_and_the_model_hears_of_it(
    person: User, model: ScriptedModel
) -> None:
    session, job = ask(person, model, topic="ants")
    cancel_job(job.pk, by=person.pk)
    run_task(job)
    let_answer(session, model)
    assert RUNS == []
    assert responses(session)[0]["response"]["status"] == "cancelled"


def test_a_running_job_hears_of_its_cancellation_through_progress(person: User, model: ScriptedModel) -> None:
    session, job = ask(person, model, topic="cancelled meanwhile")
    run_task(job)
    let_answer(session, model)
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED
    assert not Artifact.objects.filter(session=session).exists()


def test_what_staff_stop_is_told_to_the_agent_once_and_the_row_keeps_who_and_why(
    person: User, model: ScriptedModel
) -> None:
    session, job = ask(person, model, topic="ants")
    staff = User.objects.create(username="staff")
    cancel_job(job.pk, by=staff.pk, reason="Too many ants")
    cancel_job(job.pk, by=person.pk)
    run_task(job)
    let_answer(session, model)
    job.refresh_from_db()
    assert (job.cancelled_by, job.cancel_reason) == (staff, "Too many ants")
    (response,) = responses(session)
    assert response["response"] == {"status": "cancelled", "error": "The job was stopped by staff."}


def test_a_job_that_was_to_be_stopped_when_its_worker_died_is_not_run_again(
    person: User, model: ScriptedModel
) -> None:
    session, job = ask(person, model, topic="ants")
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(status=JobStatus.RUNNING, attempts=1, heartbeat_at=long_ago, created_at=long_ago)
    cancel_job(job.pk, by=person.pk)
    sweep_jobs()
    run_task(job)
    let_answer(session, model)
    assert RUNS == []
    assert [response["response"]["status"] for response in responses(session)] == ["cancelled"]


def test_a_job_that_is_to_be_stopped_is_not_tried_again(person: User, model: ScriptedModel) -> None:
    session, job = ask(person, model, topic="cancelled, then unreachable")
    run_task(job)
    let_answer(session, model)
    assert [response["response"]["status"] for response in responses(session)] == ["cancelled"]


def test_the_sweeper_sends_what_a_crash_left_unsent(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    _, job = ask(person, model, topic="ants")
    broker.clear()
    ToolJob.objects.update(sent_at=None, created_at=timezone.now() - timedelta(minutes=1))
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    sweep_jobs()
    assert len(broker) == 1


def test_a_delayed_job_waits_for_its_time_and_is_sent_then(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = ask(person, model, topic="ants", run_at="in 2 hours")
    assert job.run_at is not None and timezone.now() < job.run_at and job.args == {"topic": "ants"}
    assert "Starts at" in job_notice(job).html
    ToolJob.objects.update(created_at=timezone.now() - timedelta(hours=1))
    sweep_jobs()
    assert broker == []
    ToolJob.objects.update(run_at=timezone.now())
    for _ in range(2):
        sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    run_task(job)
    let_answer(session, model)
    assert [response["response"]["summary"] for response in responses(session)] == ["all of ants"]


def test_a_delayed_job_is_cancelled_before_it_starts_and_the_model_hears_of_it_once(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = ask(person, model, topic="ants", run_at="in 2 hours")
    for _ in range(2):
        cancel_job(job.pk, by=person.pk)
    ToolJob.objects.update(run_at=timezone.now())
    sweep_jobs()
    run_task(job)
    let_answer(session, model)
    assert broker == [] and RUNS == []
    assert [response["response"]["status"] for response in responses(session)] == ["cancelled"]


@pytest.mark.parametrize(
    ("run_at", "told"),
    [
        ("2031-05-01T09:00", "no offset"),
        ("2001-05-01T09:00+00:00", "is past"),
        ("tomorrow", "no time that can be read"),
    ],
)
def test_a_start_that_cannot_be_is_refused_with_what_is_wrong(
    person: User, model: ScriptedModel, run_at: str, told: str
) -> None:
    model.turns = [call("write_report", topic="ants", run_at=run_at), "I see."]
    talk(person, "reports", "a report")
    answered = model.requests[-1].contents[-1].parts[0].function_response
    assert told in answered.response["error"] and "now" in answered.response["error"]
    assert not ToolJob.objects.exists()


def test_what_the_page_is_told_first_of_a_job_is_what_it_is_told_after_a_reload(
    person: User, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Notice] = []
    monkeypatch.setattr(Hub, "publish_notice", lambda hub, session_id, notice: told.append(notice))
    _, job = ask(person, model, topic="ants", run_at="in 2 hours")
    (first,) = [notice for notice in told if isinstance(notice, JobFrame)]
    assert first == job_notice(job)


def test_only_a_delayable_tool_is_declared_with_a_start() -> None:
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


def test_the_sweeper_queues_the_job_of_a_dead_worker_again_and_its_late_result_is_ignored(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    session, job = ask(person, model, topic="ants")
    broker.clear()
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(status=JobStatus.RUNNING, attempts=1, heartbeat_at=long_ago, created_at=long_ago)
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]
    run_task(job)
    job.refresh_from_db()
    assert (job.status, job.attempts) == (JobStatus.SUCCEEDED, 2)
    assert len(responses(session)) == 0  # queued, not yet run
    let_answer(session, model)
    assert len(responses(session)) == 1


def test_the_sweeper_answers_what_a_crash_left_unanswered(person: User, model: ScriptedModel) -> None:
    session, _job = ask(person, model, topic="ants")
    ToolJob.objects.update(status=JobStatus.SUCCEEDED, result={"summary": "done"}, finished_at=timezone.now())
    sweep_jobs()
    sweep_jobs()
    let_answer(session, model)
    assert [response["response"]["summary"] for response in responses(session)] == ["done"]


def test_a_job_tool_cannot_take_a_tool_context() -> None:
    def bad(tool_context: ToolContext) -> str:
        """No."""
        return ""

    with pytest.raises(ConfigurationError, match="runs in a worker"):
        job_tool(bad)


def test_artifacts_are_saved_inside_jobs_only() -> None:
    with pytest.raises(ConfigurationError, match="run as a job"):
        save_artifact("x.txt", types.Part(text="x"))
