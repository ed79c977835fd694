"""Rendering of events, jobs and scheduled tasks to HTML.

Rendering never raises: a row that cannot be rendered, such as an event of a newer version, becomes an element with a
sentence, and the rest of the page is shown.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from runtime import types
from runtime.events import Event as RuntimeEvent
from runtime.events.allowances import withdrawn_tool
from runtime.sessions.state import State
from sessions_app.base.statuses import JOB_CANCELLED, JobStatus
from sessions_app.conf import conf
from sessions_app.history.costs import cost_of, tokens_of
from sessions_app.history.event_marks import has_recalled, is_resumed, is_stopped_by_staff
from sessions_app.live.notices import JobNotice, ScheduleNotice
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.rendering.article import article, node_mark
from sessions_app.rendering.blocks import (
    Block,
    PicturesBlock,
    ScheduledTaskBlock,
    TextBlock,
    ThoughtBlock,
    UploadBlock,
    blocks_of,
)
from sessions_app.rendering.faces import face_of
from sessions_app.rendering.files import FileLink, file_links
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.outline import one_line
from sessions_app.rendering.sentences import in_language
from sessions_app.rendering.session_view import SessionView
from sessions_app.rendering.sources import sources_of

logger = logging.getLogger(__name__)
logger.addFilter(once)
NO_JOBS: Mapping[str, ToolJob] = {}


def render_event(
    view: SessionView, seq: int, event: RuntimeEvent, jobs: Mapping[str, ToolJob] = NO_JOBS
) -> SafeString:
    """Render an event as `<article id="event-<seq>">`; empty if the event shows nothing.

    Args:
        jobs: jobs of the session by call id; each is rendered below its call.
    """
    try:
        return _render_event(view, seq, event, jobs)
    except Exception:  # One odd event must not take down the page or the socket.
        logger.exception(
            "Event %s of session %s cannot be rendered",
            seq,
            view.session_id,
            extra={"session_id": str(view.session_id)},
        )
        return format_html(
            '<article id="event-{0}" class="event quiet" data-seq="{0}" data-event-id="{1}" data-invocation="{2}"'
            ' data-time="{3}">\n<p class="error">{4}</p>\n</article>',
            seq,
            event.id,
            event.invocation_id,
            repr(event.timestamp),
            gettext("This part of the chat cannot be shown. It is kept."),
        )


def render_job(job: ToolJob | JobNotice) -> SafeString:
    """Render a job as `<section class="job">`: status, progress, questions and answers, files, error."""
    try:
        return _render_job(job)
    except Exception:  # One odd job must not take down the page or the socket.
        logger.exception("Job %s cannot be rendered", job.id, extra={"job_id": str(job.id)})
        return format_html(
            '<section class="job" data-id="{0}" data-status="{1}" data-call-id="{2}">\n'
            '<p class="error">{3}</p>\n</section>',
            job.id,
            job.status,
            job.call_id,
            gettext("This job cannot be shown."),
        )


def render_schedule(task: ScheduledTask | ScheduleNotice) -> SafeString:
    """Render a scheduled task as `<li class="schedule">`: text, next time, recurrence, cancel button."""
    try:
        return render_to_string("chat/schedule.html", {"task": task})
    except Exception:  # One odd task must not take down the page or the socket.
        logger.exception("Scheduled task %s cannot be rendered", task.id, extra={"task_id": str(task.id)})
        return format_html(
            '<li class="schedule" data-id="{0}" data-status="{1}"><p class="error">{2}</p></li>',
            task.id,
            task.status,
            gettext("This scheduled task cannot be shown."),
        )


def content_of(view: SessionView, event: RuntimeEvent, jobs: Mapping[str, ToolJob]) -> dict[str, Any]:
    """Return the displayed parts of an event and its speaker, by name in the template context.

    Empty if the event shows nothing.
    """
    sources = sources_of(event)
    blocks = blocks_of(view, event, jobs, sources.citations)
    actions = event.actions
    withdrawn = withdrawn_tool(event)
    changes: list[tuple[str, str]] = []
    if view.shows_details:
        changes = list(_state_changes(actions.state_delta))
    content = {
        "blocks": blocks,
        "sources": sources.listed,
        "has_suggestions": bool(sources.suggestions),
        "transfer": actions.transfer_to_agent and face_of(view.app_name, actions.transfer_to_agent),
        "changes": changes,
        "files": _files(view, event, blocks),
        "error": _error_text(event),
        "is_interrupted": bool(event.interrupted),
        "is_recalled": has_recalled(event) and _is_answer(event),
        "is_resumed": is_resumed(event),
        "is_stopped_by_staff": is_stopped_by_staff(event),
        "is_empty_answer": _is_empty_answer(event, blocks),
        "is_cut": _is_cut(event),
        "withdrawn": withdrawn and {"tool": withdrawn, "face": face_of(view.app_name, withdrawn.agent)},
    }
    if not any(content.values()):
        return {}
    return {
        **content,
        "speaker": _speaker(event, blocks),
        "face": face_of(view.app_name, event.author),
        "happened_at": datetime.fromtimestamp(event.timestamp, UTC),
    }


def _is_answer(event: RuntimeEvent) -> bool:
    return event.author != "user" and event.is_final_response() and bool(event.text().strip())


def _render_event(
    view: SessionView, seq: int, event: RuntimeEvent, jobs: Mapping[str, ToolJob]
) -> SafeString:
    content = content_of(view, event, jobs)
    if not content:
        return node_mark(seq, event) if event.node_info else mark_safe("")
    is_of_texts = all(isinstance(block, TextBlock | UploadBlock) for block in content["blocks"])
    context = {
        **content,
        "session_id": view.session_id,
        "seq": seq,
        "event": event,
        "is_editable": event.author == "user" and is_of_texts,
        "shows_details": view.shows_details,
        "tokens": 0,
        "cost": 0,
    }
    if view.shows_details:
        context |= {"tokens": tokens_of(event), "cost": cost_of(event, conf())}
    return article(context)


def _render_job(job: ToolJob | JobNotice) -> SafeString:
    error = job.error
    if error == JOB_CANCELLED:  # no more than its status says
        error = ""
    context = {
        "job": job,
        "status_label": dict(JobStatus.choices).get(job.status, job.status),
        "is_ended": job.status in JobStatus.ended(),
        "question": job.question and _parse_times(job.question),
        "phases": _phases(job),
        "error": error,
        "answers": [_parse_times(answered) for answered in job.answers],
        "files": file_links(job.session_id, job.artifacts),
    }
    return render_to_string("chat/job.html", context)


def _files(view: SessionView, event: RuntimeEvent, blocks: list[Block]) -> list[FileLink]:
    """Return the files to list below the blocks: files of the message, then other files that the event saved."""
    files = [block.file for block in blocks if isinstance(block, UploadBlock)]
    shown = [*files]
    for block in blocks:
        if isinstance(block, PicturesBlock):
            shown += block.files
    versions = {(file.filename, file.version) for file in shown}
    saved = event.actions.artifact_delta.items()
    others = {name: version for name, version in saved if (name, version) not in versions}
    return files + file_links(view.session_id, others)


def _speaker(event: RuntimeEvent, blocks: list[Block]) -> str:
    if any(isinstance(block, ScheduledTaskBlock) for block in blocks):
        return "clock"
    if any(isinstance(block, TextBlock | UploadBlock | PicturesBlock) for block in blocks):
        return "person" if event.author == "user" else "agent"
    return "quiet"


def _is_empty_answer(event: RuntimeEvent, blocks: list[Block]) -> bool:
    """True if a model ended its turn without an error, and without an answer besides thoughts."""
    # Events of earlier versions: the engine now records an error.
    has_ended = event.finish_reason is not None and not event.error_code and not event.interrupted
    is_final = event.author != "user" and event.is_final_response() and not event.actions.transfer_to_agent
    return has_ended and is_final and all(isinstance(block, ThoughtBlock) for block in blocks)


def _is_cut(event: RuntimeEvent) -> bool:
    """True if the answer was cut by the model's limit on its length."""
    return event.finish_reason is types.FinishReason.MAX_TOKENS and not event.error_code


def _phases(job: ToolJob | JobNotice) -> list[dict[str, Any]]:
    """Return the phases of a job, each with its begin `at`, its end `until` and its `status`."""
    phases = [{**_parse_times(phase), "status": JobStatus.SUCCEEDED} for phase in job.phases]
    for phase, following in pairwise(phases):
        phase["until"] = following["at"]
    if phases:
        # A question or a retry ends the run, and its last phase, without an end of the job.
        phases[-1].update(until=job.finished_at, status=job.status)
    return phases


def _parse_times(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored question or answer of a job with datetimes, which templates can format."""
    times = {key: datetime.fromisoformat(question[key]) for key in ("asked_at", "at") if key in question}
    return {**question, **times}


def _state_changes(state_delta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in sorted(state_delta.items()):
        # The state of an app belongs to all its users.
        if not key.startswith((State.TEMP_PREFIX, State.APP_PREFIX)):
            yield key, one_line(value)


def _error_text(event: RuntimeEvent) -> str:
    if event.error_message or not event.error_code:
        return in_language(event.error_message or "")
    return gettext("Something went wrong. This message was not answered.")
