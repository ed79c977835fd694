"""Texts of jobs that PostgreSQL cannot store: NUL and lone surrogates are replaced by U+FFFD, and no job is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User

from runtime import types
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.jobs import ask, confirm, job_tool, progress, save_artifact
from sessions_app.models import JobStatus, ToolJob
from sessions_app.process import threads
from sessions_app.sessions.ownership import own_session
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, responses, run_queue, run_task, talk
from tests.served_agents import Served

UNSTORABLE = "a\0b\ud800"
STORED = "a\ufffdb\ufffd"
RUNS: list[str] = []


def _report_progress() -> dict[str, Any]:
    progress(1, 2, UNSTORABLE)
    return {}


def _fail() -> dict[str, Any]:
    raise ValueError(UNSTORABLE)


def _be_unreachable() -> dict[str, Any]:
    raise OSError(UNSTORABLE)


def _ask() -> dict[str, Any]:
    return {
        "agreed": confirm(UNSTORABLE),
        "chosen": ask("Which?", [UNSTORABLE, "another"]),
        "said": ask("What?"),
    }


def _save() -> dict[str, Any]:
    return {"version": save_artifact(UNSTORABLE, types.Part(text="what is in it"))}


ACTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "return NUL": lambda: {"text": "a\0b", "deep": [{"a\0b": "a\0b"}]},
    "return a large text with NUL": lambda: {"text": "a\0b" * 50_000},
    "return a lone surrogate": lambda: {"text": UNSTORABLE},
    "report progress": _report_progress,
    "fail": _fail,
    "be unreachable": _be_unreachable,
    "ask": _ask,
    "save": _save,
}


@job_tool(retry_on=(OSError,), max_retries=1)
def read_file(what: str, note: str = "") -> dict[str, Any]:
    """Read a file that is no text."""
    RUNS.append(note)
    return ACTIONS[what]()


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    RUNS.clear()
    return clerk_with(read_file, served)


def run_job(person: User, model: ScriptedModel, **args: Any) -> ToolJob:
    """Let the model start the job, run it and return its row."""
    model.turns = [call("read_file", **args), "It is on its way."]
    job = ToolJob.objects.select_related("session").get(session_id=talk(person, "reports", "read it"))
    run_task(job)
    job.refresh_from_db()
    return job


def delivered_response(job: ToolJob, model: ScriptedModel) -> dict[str, Any]:
    model.turns = ["I see."]
    run_queue(job.session_id)
    (response,) = responses(job.session)
    body: dict[str, Any] = response["response"]
    return body


def test_a_result_with_a_lone_surrogate_is_delivered(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="return a lone surrogate")
    assert (job.status, job.attempts, job.result) == (JobStatus.SUCCEEDED, 1, {"text": STORED})
    assert delivered_response(job, model) == {"status": "succeeded", "text": STORED}


def test_a_result_is_stored_and_delivered(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="return NUL")
    stored = {"text": "a\ufffdb", "deep": [{"a\ufffdb": "a\ufffdb"}]}
    assert (job.status, job.attempts, job.result) == (JobStatus.SUCCEEDED, 1, stored)
    assert delivered_response(job, model) == {"status": "succeeded", **stored}


def test_a_result_that_is_saved_as_a_file_is_delivered(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="return a large text with NUL")
    assert (job.status, job.attempts) == (JobStatus.SUCCEEDED, 1)
    assert delivered_response(job, model)["file"] in job.artifacts


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("fail", STORED),
        ("save", "cannot be stored"),
    ],
)
def test_a_failure_is_delivered_and_not_retried(
    person: User, model: ScriptedModel, what: str, error: str
) -> None:
    job = run_job(person, model, what=what)
    assert (job.status, job.attempts) == (JobStatus.FAILED, 1)
    assert job.error == "The job failed."
    assert error in job.error_detail
    assert delivered_response(job, model) == {"status": "error", "error": job.error}


def test_the_error_before_a_retry_is_stored(person: User, model: ScriptedModel) -> None:
    with pytest.raises(Retry):
        run_job(person, model, what="be unreachable")
    job = ToolJob.objects.get()
    assert (job.status, job.attempts) == (JobStatus.QUEUED, 1)
    assert job.error == "The job failed. It will be retried."
    assert STORED in job.error_detail


def test_progress_messages_are_stored(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="report progress")
    assert (job.status, job.progress_message) == (JobStatus.SUCCEEDED, STORED)


def test_questions_and_answers_are_stored_and_matched(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="ask")
    dialogue: list[tuple[str, bool | str]] = [(STORED, True), ("Which?", STORED), ("What?", UNSTORABLE)]
    for number, (text, answer) in enumerate(dialogue):
        assert job.question is not None and job.question["text"] == text
        threads.run(use_cases.answer_job(actors.person(person), job.session_id, job.pk, number, answer))
        run_task(job)
        job.refresh_from_db()
    assert job.result == {"agreed": True, "chosen": STORED, "said": STORED}


def test_arguments_are_stored(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="report progress", note=UNSTORABLE)
    assert job.status == JobStatus.SUCCEEDED and RUNS == [STORED]


def test_a_message_is_stored_and_titles_the_session(person: User, model: ScriptedModel) -> None:
    model.turns = ["I see."]
    session_id = talk(person, "reports", UNSTORABLE)
    assert ToolJob.objects.count() == 0
    assert threads.run(own_session(person, session_id)).title == STORED
