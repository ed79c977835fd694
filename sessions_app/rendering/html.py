"""Rendering of events, jobs and scheduled tasks to HTML by their templates."""

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
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.rendering.blocks import Block, ScheduledTaskBlock, TextBlock, blocks_of, one_line

INLINE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
NO_JOBS: Mapping[str, ToolJob] = {}


@dataclass(frozen=True)
class FileLink:
    """Download link of an artifact version; browsers show images inline."""

    name: str
    version: int
    url: str
    is_image: bool


def render_event(
    session_id: UUID, seq: int, event: Event, jobs: Mapping[str, ToolJob] = NO_JOBS
) -> SafeString:
    """Render an event as `<article id="event-<seq>">`; empty when there is nothing to show.

    Args:
        jobs: Jobs of the session by call id; each is rendered below its call.
    """
    blocks = blocks_of(event, jobs)
    actions = event.actions
    content = {
        "blocks": blocks,
        "transfer": actions.transfer_to_agent,
        "changes": list(_state_changes(actions.state_delta)),
        "files": file_links(session_id, actions.artifact_delta),
        "error": _error_text(event),
        "is_interrupted": bool(event.interrupted),
        "is_resumed": "adk_resumed" in (event.custom_metadata or {}),
        "is_stopped_by_staff": "adk_stopped_by" in (event.custom_metadata or {}),
    }
    if not any(content.values()):
        return mark_safe("")
    context = {
        **content,
        "seq": seq,
        "event": event,
        "is_editable": event.author == "user" and all(isinstance(block, TextBlock) for block in blocks),
        "speaker": _speaker(event, blocks),
        "happened_at": datetime.fromtimestamp(event.timestamp, UTC),
    }
    return render_to_string("chat/event.html", context)


def render_job(job: ToolJob) -> SafeString:
    """Render a job as `<section id="job-<uuid>">`: status, progress, questions and answers, files, error."""
    context = {
        "job": job,
        "question": job.question and _parse_times(job.question),
        "answers": [_parse_times(answered) for answered in job.answers],
        "files": file_links(job.session_id, job.artifacts),
    }
    return render_to_string("chat/job.html", context)


def render_schedule(task: ScheduledTask) -> SafeString:
    """Render a scheduled task as `<li id="schedule-<id>">`: text, next time, recurrence, cancel button."""
    return render_to_string("chat/schedule.html", {"task": task})


def file_links(session_id: UUID, artifacts: Mapping[str, int]) -> list[FileLink]:
    """Return links to artifacts of the session, given as {filename: version}: images first, then by name."""
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
    if any(isinstance(block, ScheduledTaskBlock) for block in blocks):
        return "clock"
    if any(isinstance(block, TextBlock) for block in blocks):
        return "person" if event.author == "user" else "agent"
    return "quiet"


def _parse_times(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored question or answer of a job with its times as datetimes."""
    times = {key: datetime.fromisoformat(question[key]) for key in ("asked_at", "at") if key in question}
    return {**question, **times}


def _state_changes(state_delta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in sorted(state_delta.items()):
        if not key.startswith(State.TEMP_PREFIX):
            yield key, one_line(value)


def _error_text(event: Event) -> str:
    if event.error_message or not event.error_code:
        return event.error_message or ""
    return f"The response ended with {event.error_code}."
