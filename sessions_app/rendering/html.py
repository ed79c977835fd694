"""One event, one job, one scheduled task: from values to HTML by their templates."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from runtime.events import Event
from runtime.sessions.state import State
from sessions_app.history.event_marks import is_resumed, is_stopped_by_staff
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.rendering.blocks import Block, Text, WakeUp, blocks_of, one_line

INLINE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
NO_JOBS: Mapping[str, ToolJob] = {}


@dataclass(frozen=True)
class FileLink:
    """A version of an artifact that can be downloaded, and shown when it is a picture."""

    name: str
    version: int
    url: str
    is_image: bool


def render_event(
    session_id: UUID, seq: int, event: Event, jobs: Mapping[str, ToolJob] = NO_JOBS
) -> SafeString:
    """The event as one `<article id="event-<seq>">`; empty when it has nothing to show.

    Args:
        jobs: of the session, by call id; the card of each stands under its call.
    """
    blocks = blocks_of(event, jobs)
    actions = event.actions
    shown = {
        "blocks": blocks,
        "transfer": actions.transfer_to_agent,
        "changes": list(_changes(actions.state_delta)),
        "files": file_links(session_id, actions.artifact_delta),
        "error": _error(event),
        "is_interrupted": bool(event.interrupted),
        "is_resumed": is_resumed(event),
        "is_stopped_by_staff": is_stopped_by_staff(event),
    }
    if not any(shown.values()):
        return mark_safe("")
    context = {
        **shown,
        "seq": seq,
        "event": event,
        "is_editable": event.author == "user" and all(isinstance(block, Text) for block in blocks),
        "speaker": _speaker(event, blocks),
        "happened_at": datetime.fromtimestamp(event.timestamp, UTC),
    }
    return render_to_string("chat/event.html", context)


def render_job(job: ToolJob) -> SafeString:
    """The job as one `<section id="job-<uuid>">`: state, progress, questions and answers, files, error."""
    context = {
        "job": job,
        "question": job.question and _with_times(job.question),
        "answers": [_with_times(answered) for answered in job.answers],
        "files": file_links(job.session_id, job.artifacts),
    }
    return render_to_string("chat/job.html", context)


def render_schedule(task: ScheduledTask) -> SafeString:
    """The scheduled task as one `<li id="schedule-<id>">`: what, when next, how often, and a way to cancel it."""
    return render_to_string("chat/schedule.html", {"task": task})


def file_links(session_id: UUID, artifacts: Mapping[str, int]) -> list[FileLink]:
    """Links to versions of files of the session, given as {filename: version}: pictures first, then by name."""
    links = [
        FileLink(
            name=filename.removeprefix(State.USER_PREFIX),
            version=version,
            url=f"{reverse('chat:artifact', args=[session_id, filename])}?{urlencode({'version': version})}",
            is_image=mimetypes.guess_type(filename)[0] in INLINE_IMAGES,
        )
        for filename, version in artifacts.items()
    ]
    return sorted(links, key=lambda link: (not link.is_image, link.name))


def _speaker(event: Event, blocks: list[Block]) -> str:
    if any(isinstance(block, WakeUp) for block in blocks):
        return "clock"
    if any(isinstance(block, Text) for block in blocks):
        return "person" if event.author == "user" else "agent"
    return "quiet"


def _with_times(question: Mapping[str, Any]) -> dict[str, Any]:
    """What a job's row keeps of a question, its times as times."""
    times = {key: datetime.fromisoformat(question[key]) for key in ("asked_at", "at") if key in question}
    return {**question, **times}


def _changes(state_delta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in sorted(state_delta.items()):
        if not key.startswith(State.TEMP_PREFIX):
            yield key, one_line(value)


def _error(event: Event) -> str:
    if event.error_message or not event.error_code:
        return event.error_message or ""
    return f"The answer ended with {event.error_code}."
