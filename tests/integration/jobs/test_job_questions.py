"""Questions of jobs: the job pauses without a process, and one answer by the owner resumes it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Retry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.utils import timezone

from runtime.errors import ConfigurationError
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError, PermissionDeniedError
from sessions_app.jobs import ask, confirm, job_tool, progress
from sessions_app.jobs.questions import JobQuestion
from sessions_app.jobs.repairs import MAX_ATTEMPTS
from sessions_app.models import Invocation, JobStatus, ToolJob
from sessions_app.process import celery_dispatch, threads
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import go_back
from tests.integration.jobs.job_helpers import clerk_with, responses, run_queue, run_task, sweep_jobs, talk
from tests.served_agents import Served

RUNS: list[str] = []
SENT: list[str] = []


@job_tool(retry_on=(OSError,), max_retries=2)
def send_report(customers: int) -> dict[str, Any]:
    """Send the report to the customers.

    Args:
        customers: How many.
    """
    RUNS.append("run")
    progress(1, 3, "Counting")
    if not confirm(f"Send the report to {customers} customers?"):
        return {"summary": "Nothing was sent."}
    language = ask("In which language?", ["English", "German"])
    if RUNS.count("run") == 3:
        raise OSError("the mail server is down")
    signature = ask("Signed by whom?")
    SENT.append(language)
    return {"summary": f"Sent in {language}, signed {signature}."}


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    RUNS.clear()
    SENT.clear()
    return clerk_with(send_report, served)


@pytest.fixture
def job(person: User, model: ScriptedModel, broker: list[tuple[str, str]]) -> ToolJob:
    """A job that waits for an answer to its first question."""
    model.turns = [call("send_report", customers=214), "It asks you first."]
    job = ToolJob.objects.get(session_id=talk(person, "reports", "send the report"))
    run_task(job)
    job.refresh_from_db()
    broker.clear()
    return job


def open_question(job: ToolJob) -> dict[str, Any]:
    question: dict[str, Any] | None = job.question
    assert question is not None
    return question


def answer(person: User, job: ToolJob, number: int, said: bool | str) -> None:
    """Answer question `number` as the user."""
    threads.run(use_cases.answer_job(actors.person(person), job.session_id, job.pk, number, said))
    job.refresh_from_db()


def delivered_responses(job: ToolJob) -> list[dict[str, Any]]:
    """Run the queue and return the function responses of the job."""
    run_queue(job.session_id)
    return [response["response"] for response in responses(job.session)]


def test_a_question_leaves_the_job_waiting_and_frees_the_worker(job: ToolJob) -> None:
    assert (job.status, job.attempts) == (JobStatus.WAITING, 0)
    assert open_question(job)["text"] == "Send the report to 214 customers?"
    assert (job.progress_done, job.progress_message) == (1, "Counting")
    assert job.delivered_at is None and delivered_responses(job) == []
    assert Invocation.objects.get(client_id="m1").status == "waiting"


def test_the_function_is_run_again_with_all_answers_and_the_call_is_answered_once(
    person: User, job: ToolJob, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    answer(person, job, 0, True)
    assert job.status == JobStatus.QUEUED and job.question is None
    run_task(job)
    job.refresh_from_db()
    assert open_question(job)["options"] == ["English", "German"]
    answer(person, job, 1, "German")
    ToolJob.objects.update(status=JobStatus.RUNNING, attempts=1)  # a worker claimed the job and was killed
    run_task(job)  # the broker delivers the task again
    assert len(RUNS) == 2
    ToolJob.objects.update(heartbeat_at=timezone.now() - timedelta(hours=1))
    sweep_jobs()
    with pytest.raises(Retry):
        run_task(job)  # this attempt fails
    run_task(job)
    job.refresh_from_db()
    assert open_question(job)["kind"] == "text"
    answer(person, job, 2, "Ada")
    for _ in range(3):
        run_task(job)
    model.turns = ["All is sent."]
    (response,) = delivered_responses(job)
    assert response == {"status": "succeeded", "summary": "Sent in German, signed Ada."}
    assert SENT == ["German"]
    job.refresh_from_db()
    assert [(answered["answer"], answered["by"]) for answered in job.answers] == [
        (True, "ada"),
        ("German", "ada"),
        ("Ada", "ada"),
    ]
    assert set(broker) == {(str(job.pk), job.task_name)}


def test_an_answer_from_two_tabs_counts_once(person: User, job: ToolJob) -> None:
    async def answer_in_all_tabs() -> list[Any]:
        tabs = (
            use_cases.answer_job(actors.person(person), job.session_id, job.pk, 0, said)
            for said in (True, False) * 3
        )
        return await asyncio.gather(*tabs, return_exceptions=True)

    refused = [error for error in threads.run(answer_in_all_tabs()) if error is not None]
    assert [type(error) for error in refused] == [ConflictError] * 5
    job.refresh_from_db()
    assert len(job.answers) == 1
    run_task(job)
    with pytest.raises(
        ConflictError, match=r"answered already|has ended"
    ):  # It has ended when a no came first.
        answer(person, job, 0, True)  # from a tab that does not show the second question yet


def test_an_invalid_answer_is_refused_and_the_job_still_waits(person: User, job: ToolJob) -> None:
    with pytest.raises(InvalidInputError, match="yes or no"):
        answer(person, job, 0, "perhaps")
    answer(person, job, 0, True)
    run_task(job)
    with pytest.raises(InvalidInputError, match="English, German"):
        answer(person, job, 1, "Latin")
    with pytest.raises(InvalidInputError, match="with text"):
        answer(person, job, 1, True)
    job.refresh_from_db()
    assert job.status == JobStatus.WAITING and len(job.answers) == 1


def test_only_the_owner_may_answer_and_nobody_can_forge_the_function_response(
    person: User, job: ToolJob
) -> None:
    stranger = get_user_model().objects.create_user("eve")
    with pytest.raises(NotFoundError):
        answer(stranger, job, 0, True)
    forged = use_cases.answer_call(
        actors.person(person), job.session_id, job.call_id, job.tool_name, {"summary": "sent"}
    )
    with pytest.raises(PermissionDeniedError):
        threads.run(forged)
    job.refresh_from_db()
    assert job.status == JobStatus.WAITING


def test_neither_the_sweep_nor_a_delivery_runs_a_waiting_job(
    job: ToolJob, broker: list[tuple[str, str]]
) -> None:
    long_ago = timezone.now() - timedelta(days=9)
    ToolJob.objects.update(created_at=long_ago, sent_at=long_ago, heartbeat_at=long_ago)
    sweep_jobs()
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.WAITING and broker == [] and len(RUNS) == 1


def test_the_sweep_sends_an_answered_job_that_could_not_be_sent(
    person: User, job: ToolJob, broker: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_send(job_id: str | UUID, task_name: str) -> None:
        raise ConnectionError("the broker is down")

    monkeypatch.setattr(celery_dispatch, "send_job", fail_to_send)
    ToolJob.objects.update(created_at=timezone.now() - timedelta(days=9))
    answer(person, job, 0, True)
    sweep_jobs()
    assert broker == [(str(job.pk), job.task_name)]


def test_questions_do_not_count_as_attempts(person: User, job: ToolJob) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    ToolJob.objects.update(attempts=MAX_ATTEMPTS - 1)
    answer(person, job, 0, True)
    run_task(job)
    ToolJob.objects.update(status=JobStatus.RUNNING, heartbeat_at=long_ago)
    sweep_jobs()
    job.refresh_from_db()
    assert job.status == JobStatus.QUEUED


def test_a_waiting_job_can_be_cancelled_and_the_model_receives_a_response(
    person: User, job: ToolJob, model: ScriptedModel
) -> None:
    threads.run(use_cases.cancel_job(actors.person(person), job.session_id, job.pk))
    with pytest.raises(ConflictError, match="has ended"):
        answer(person, job, 0, True)
    model.turns = ["As you wish."]
    assert [response["status"] for response in delivered_responses(job)] == ["cancelled"]


def test_a_job_that_is_cancelled_before_it_asks_does_not_wait(
    person: User, job: ToolJob, model: ScriptedModel
) -> None:
    answer(person, job, 0, True)
    ToolJob.objects.update(cancel_requested_at=timezone.now())
    run_task(job)
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED and job.question is None
    model.turns = ["As you wish."]
    assert len(delivered_responses(job)) == 1


def test_a_rewind_before_the_call_cancels_the_waiting_job(person: User, job: ToolJob) -> None:
    first = Invocation.objects.get(client_id="m1").invocation_id
    threads.run(go_back(person, job.session_id, first))
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED and job.question is None
    assert delivered_responses(job) == []


def test_a_question_with_a_changed_text_is_asked_again(person: User, job: ToolJob) -> None:
    answer(person, job, 0, True)
    ToolJob.objects.update(args={"customers": 300})
    run_task(job)
    job.refresh_from_db()
    assert open_question(job)["text"] == "Send the report to 300 customers?"


def test_staff_see_the_question_the_answer_and_who_answered(
    person: User, job: ToolJob, admin_client: Any
) -> None:
    page = f"/admin/sessions_app/tooljob/{job.pk}/change/"
    assert "Send the report to 214 customers?" in admin_client.get(page).content.decode()
    answer(person, job, 0, True)
    html = admin_client.get(page).content.decode()
    assert "<bdi>Send the report to 214 customers?</bdi> <b><bdi>yes</bdi></b> (<bdi>ada</bdi>, " in html


def test_questions_need_a_job_and_a_text() -> None:
    with pytest.raises(ConfigurationError, match="only inside a job"):
        confirm("Really?")
    for text, options in ((" ", ()), ("How?", ("by post", ""))):
        with pytest.raises(ConfigurationError, match="empty"):
            JobQuestion(text, "choice", options)
