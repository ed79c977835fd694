"""A conversation as text, for whoever has to find out why a rule is broken."""

from __future__ import annotations

from datetime import datetime

from runtime.events import Event
from tests.chaos.conversation import Conversation


def told(conversation: Conversation) -> str:
    """What is stored of it, a line each: events, invocations, jobs, scheduled tasks."""
    events = [
        f"#{row.seq} {row.happened_at:%T.%f} {row.invocation_id} {row.author} {row.kind} {_gist(event)}"
        for row, event in zip(conversation.rows, conversation.events, strict=True)
    ]
    invocations = [
        f"{row.client_id} {row.invocation_id} {row.status} attempts {row.attempts} {row.error_code} "
        f"{_times(row.created_at, row.started_at, row.cancel_requested_at, row.finished_at)}"
        for row in conversation.invocations
    ]
    jobs = [
        f"job {row.id} of {row.call_id} {row.status} attempts {row.attempts} {row.error} "
        f"{_times(row.created_at, row.started_at, row.cancel_requested_at, row.finished_at, row.delivered_at)}"
        for row in conversation.jobs
    ]
    tasks = [
        f"task {row.pk} of {row.invocation_id} {row.status} runs {row.runs} "
        f"{_times(row.created_at, row.last_run_at, row.cancelled_at)}"
        for row in conversation.tasks
    ]
    return "\n".join([f"session {conversation.session.pk}", *events, *invocations, *jobs, *tasks])


def _gist(event: Event) -> str:
    """What it says, in a line."""
    calls = [f"{call.name}({call.id})" for call in event.get_function_calls()]
    responses = [
        f"{response.name}({response.id}): {response.response}" for response in event.get_function_responses()
    ]
    texts = [part.text for part in (event.content.parts or []) if part.text] if event.content else []
    back_to = event.actions.rewind_before_invocation_id
    marks = [
        *(["interrupted"] if event.interrupted else []),
        *([f"back to {back_to}"] if back_to else []),
        *([str(event.error_code)] if event.error_code else []),
        *([str(event.custom_metadata)] if event.custom_metadata else []),
    ]
    return " ".join([*marks, *calls, *responses, *texts])[:160]


def _times(*moments: datetime | None) -> str:
    return " ".join(f"{moment:%T.%f}" if moment else "-" for moment in moments)
