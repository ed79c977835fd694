"""PostgreSQL has no room for NUL and for half a surrogate pair: texts of jobs have U+FFFD there, and no job is lost."""

from __future__ import annotations

from typing import Any

import pytest
from celery.exceptions import Retry
from django.contrib.auth.models import User

from runtime import types
from sessions_app import use_cases
from sessions_app.db import threads
from sessions_app.jobs import ask, confirm, job_tool, progress, save_artifact
from sessions_app.models import JobStatus, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.job_helpers import clerk_with, responses, run_queue, run_task, talk

ODD = "a\0b\ud800"
STORED = "a\ufffdb\ufffd"
RUNS: list[str] = []


def _tell() -> dict[str, Any]:
    progress(1, 2, ODD)
    return {}


def _fail() -> dict[str, Any]:
    raise ValueError(ODD)


def _be_unreachable() -> dict[str, Any]:
    raise OSError(ODD)


def _ask() -> dict[str, Any]:
    return {"agreed": confirm(ODD), "chosen": ask("Which?", [ODD, "another"]), "said": ask("What?")}


def _save() -> dict[str, Any]:
    return {"version": save_artifact(ODD, types.Part(text="what is in it"))}


DEEDS = {
    "return NUL": lambda: {"text": "a\0b", "deep": [{"a\0b": "a\0b"}]},
    "return much NUL": lambda: {"text": "a\0b" * 50_000},
    "return half a pair": lambda: {"text": ODD},
    "tell": _tell,
    "fail": _fail,
    "be unreachable": _be_unreachable,
    "ask": _ask,
    "save": _save,
}


@job_tool(retry_on=(OSError,), max_retries=1)
def read_file(what: str, note: str = "") -> dict[str, Any]:
    """Read a file that is no text."""
    RUNS.append(note)
    return DEEDS[what]()


@pytest.fixture
def model(
    monkeypatch: pytest.MonkeyPatch, person: User, broker: list[tuple[str, str]], background_end: None
) -> ScriptedModel:
    RUNS.clear()
    return clerk_with(read_file, monkeypatch)


def run_job(person: User, model: ScriptedModel, **args: Any) -> ToolJob:
    """The job, after a worker has run it."""
    model.turns = [call("read_file", **args), "It is on its way."]
    job = ToolJob.objects.select_related("session").get(session_id=talk(person, "reports", "read it"))
    run_task(job)
    job.refresh_from_db()
    return job


def answer_to_call(job: ToolJob, model: ScriptedModel) -> dict[str, Any]:
    model.turns = ["I see."]
    run_queue(job.session_id)
    (response,) = responses(job.session)
    answered: dict[str, Any] = response["response"]
    return answered


def test_a_result_is_kept_and_told(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="return NUL")
    kept = {"text": "a\ufffdb", "deep": [{"a\ufffdb": "a\ufffdb"}]}
    assert (job.status, job.attempts, job.result) == (JobStatus.SUCCEEDED, 1, kept)
    assert answer_to_call(job, model) == {"status": "succeeded", **kept}


def test_a_result_that_becomes_a_file_is_told(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="return much NUL")
    assert (job.status, job.attempts) == (JobStatus.SUCCEEDED, 1)
    assert answer_to_call(job, model)["file"] in job.artifacts


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("fail", STORED),
        ("return half a pair", "is not JSON"),
        ("save", "cannot be stored"),
    ],
)
def test_a_failure_is_told_and_the_job_has_run_once(
    person: User, model: ScriptedModel, what: str, error: str
) -> None:
    job = run_job(person, model, what=what)
    assert (job.status, job.attempts) == (JobStatus.FAILED, 1)
    assert error in job.error
    assert answer_to_call(job, model) == {"status": "error", "error": job.error}


def test_what_a_job_is_tried_again_for_is_kept(person: User, model: ScriptedModel) -> None:
    with pytest.raises(Retry):
        run_job(person, model, what="be unreachable")
    job = ToolJob.objects.get()
    assert (job.status, job.attempts, job.error) == (JobStatus.QUEUED, 1, STORED)


def test_progress_is_shown(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="tell")
    assert (job.status, job.progress_message) == (JobStatus.SUCCEEDED, STORED)


def test_questions_are_asked_and_their_answers_found_again(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="ask")
    for number, (text, said) in enumerate([(STORED, True), ("Which?", STORED), ("What?", ODD)]):
        assert job.question is not None and job.question["text"] == text
        threads.run(use_cases.answer_job(person, job.session_id, job.pk, number, said))
        run_task(job)
        job.refresh_from_db()
    assert job.result == {"agreed": True, "chosen": STORED, "said": STORED}


def test_what_the_model_passes_arrives(person: User, model: ScriptedModel) -> None:
    job = run_job(person, model, what="tell", note=ODD)
    assert job.status == JobStatus.SUCCEEDED and RUNS == [STORED]


def test_what_a_person_says_begins_a_conversation(person: User, model: ScriptedModel) -> None:
    model.turns = ["I see."]
    session_id = talk(person, "reports", ODD)
    assert ToolJob.objects.count() == 0
    assert threads.run(use_cases.get_session(person, session_id)).title == STORED
