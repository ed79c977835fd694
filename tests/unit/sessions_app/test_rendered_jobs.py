"""Contract: a job's card shows its state, progress, files, question and answers, escaped."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runtime.events import Event
from sessions_app.models import ToolJob
from sessions_app.rendering.html import render_event, render_job
from tests.unit.sessions_app.rendered import FILES, SESSION, VIEW, Tags, assert_harmless

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PHASES = [
    {"name": "Reading", "at": "2026-11-21T12:00:01+00:00"},
    {"name": "Drawing", "at": "2026-11-21T12:00:41+00:00"},
]


def test_a_job_is_placed_under_its_call() -> None:
    job = job_row(status="running", progress_done=3, progress_total=7)
    call = {"functionCall": {"id": "c1", "name": "write_report", "args": {}}}
    body = {
        "author": "reports",
        "content": {"role": "model", "parts": [call]},
        "longRunningToolIds": ["c1"],
        "actions": {},
    }
    called = Event.model_validate(body)
    html = render_event(VIEW, 1, called, {"c1": job})
    assert html.index('data-call-id="c1"') < html.index(f'data-id="{job.id}"')
    assert 'class="job-place" data-call-id="c1"' in render_event(VIEW, 1, called)


def test_a_running_job_shows_its_progress() -> None:
    html = render_job(
        job_row(status="running", progress_done=3, progress_total=7, phases=PHASES, started_at=START)
    )
    (progress,) = Tags(html).all("progress")
    assert progress["value"] == "43"
    assert Tags(html).all("section")[0]["data-status"] == "running"
    assert "Drawing" in html


def test_a_cancelled_job_says_more_than_its_status_only_if_staff_stopped_it() -> None:
    assert "The job was" not in render_job(job_row(status="cancelled", error="The job was cancelled."))
    html = render_job(job_row(status="cancelled", error="The job was stopped by staff."))
    assert "The job was stopped by staff." in html and ">Cancelled<" in html


def test_each_phase_of_a_job_has_its_duration() -> None:
    html = render_job(job_row(status="running", phases=PHASES, started_at=START))
    reading, drawing = Tags(html).all("li")
    assert (reading["data-status"], drawing["data-status"]) == ("succeeded", "running")
    _whole, first, second = Tags(html).all("time")
    assert (first["datetime"], first["data-until"]) == (PHASES[0]["at"], PHASES[1]["at"])
    assert second["datetime"] == PHASES[1]["at"] and "data-until" not in second
    end = START + timedelta(minutes=3)
    html = render_job(job_row(status="failed", phases=PHASES, started_at=START, finished_at=end))
    assert [time["data-until"] for time in Tags(html).all("time")][::2] == [end.isoformat()] * 2
    assert [phase["data-status"] for phase in Tags(html).all("li")] == ["succeeded", "failed"]


def test_a_phase_of_a_job_that_waits_or_is_tried_again_does_not_go_on() -> None:
    question = question_row("text", "Why?")
    for fields in ({"status": "waiting", "question": question}, {"status": "queued"}):
        html = render_job(job_row(phases=PHASES, started_at=START, **fields))
        assert len(Tags(html).all("time")) == 1 + bool(fields.get("question"))


def test_a_retried_job_shows_its_attempt_and_the_limit() -> None:
    assert "attempt 2 of 4" in render_job(job_row(status="running", attempts=2, most_attempts=4))
    assert "attempt 1" not in render_job(job_row(status="running", attempts=1, most_attempts=4))


def test_a_job_with_unknown_progress_shows_no_percentage() -> None:
    html = render_job(job_row(status="running"))
    assert "value" not in Tags(html).all("progress")[0]
    assert "%" not in Tags(html).text


def test_a_succeeded_job_shows_its_files_and_no_progress() -> None:
    html = render_job(job_row(status="succeeded", artifacts={"report.md": 0}))
    assert not Tags(html).all("progress")
    assert Tags(html).all("a")[0]["href"] == f"{FILES}report.md?version=0"


def test_a_failed_job_shows_its_escaped_error() -> None:
    html = render_job(
        job_row(
            status="failed", error="<img src=x onerror=alert(1)>", phases=[{**PHASES[0], "name": "<svg>"}]
        )
    )
    assert_harmless(html)
    assert "<img src=x onerror=alert(1)>" in Tags(html).text
    assert "&lt;svg&gt;" in html


def question_row(kind: str, text: str, *options: str, **answer: Any) -> dict[str, Any]:
    """Return a question as the job's row stores it."""
    question = {"kind": kind, "text": text, "options": list(options), "asked_at": "2026-11-21T12:00:00+00:00"}
    return {**question, **answer}


@pytest.mark.parametrize(
    ("question", "controls"),
    [
        (question_row("confirm", "Send it?"), ["yes", "no"]),
        (question_row("choice", "How?", "by post", '"><script>'), ["by post", '"><script>']),
        (question_row("text", "Signed by whom?"), [None, None]),
    ],
)
def test_a_waiting_job_shows_its_question_with_its_controls(
    question: Any, controls: list[str | None]
) -> None:
    html = render_job(job_row(status="waiting", question=question, answers=[]))
    tags = Tags(html)
    form = next(attributes for tag, attributes in tags.found if tag == "form")
    assert (form["data-kind"], form["data-number"]) == (question["kind"], "0")
    assert form["method"] == "dialog"  # pressed before its script is loaded, it opens no other page
    found = [
        attributes
        for tag, attributes in tags.found
        if tag in ("button", "input") and "data-cancel-job" not in attributes
    ]
    assert [attributes.get("value") for attributes in found] == controls
    assert question["text"] in tags.text and "<script>" not in html and "<progress" not in html


def test_a_question_of_a_job_reads_as_it_is_and_the_answer_stays_exact() -> None:
    html = render_job(job_row(status="waiting", question=question_row("choice", "\u202eHow?", "\u202epost")))
    tags = Tags(html)
    assert "\\u202eHow?" in tags.text and "\\u202epost" in tags.text and "\u202e" not in tags.text
    assert tags.all("button")[0]["value"] == "\u202epost"


def test_answers_of_a_job_are_shown_escaped_with_author_and_time() -> None:
    answers = [
        question_row("confirm", "Send it?", answer=False, by="ada", at="2026-11-21T13:05:00+00:00"),
        question_row("text", "Why?", answer="<img src=x>", by="<b>", at="2026-11-21T13:06:00+00:00"),
    ]
    html = render_job(job_row(status="running", answers=answers))
    assert "Send it? Rejected by ada, 13:05" in " ".join(Tags(html).text.split())
    assert "&lt;img src=x&gt;" in html and "by <bdi>&lt;b&gt;</bdi>" in html


def job_row(**fields: Any) -> ToolJob:
    return ToolJob(session_id=SESSION, call_id="c1", tool_name="write_report", **fields)
