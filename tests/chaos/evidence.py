"""A conversation as text, to find out why a check failed."""

from __future__ import annotations

from datetime import datetime

from runtime.events import Event
from tests.chaos.conversation import Conversation


def describe(conversation: Conversation) -> str:
    """Return one line for each stored event, invocation, job and scheduled task."""
    events = [
        f"#{row.seq} {row.happened_at:%T.%f} {row.invocation_id} {row.author} {row.kind} {_summarize(event)}"
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


def _summarize(event: Event) -> str:
    """Return the event's flags, calls, responses and texts in one line."""
    calls = [f"{call.name}({call.id})" for call in event.get_function_calls()]
    responses = [
        f"{response.name}({response.id}): {response.response}" for response in event.get_function_responses()
    ]
    texts = [part.text for part in (event.content.parts or []) if part.text] if event.content else []
    rewound_to = event.actions.rewind_before_invocation_id
    flags = [
        *(["interrupted"] if event.interrupted else []),
        *([f"rewind before {rewound_to}"] if rewound_to else []),
        *([str(event.error_code)] if event.error_code else []),
        *([event.node_info.model_dump_json(exclude_none=True)] if event.node_info else []),
        *([str(event.custom_metadata)] if event.custom_metadata else []),
    ]
    return " ".join([*flags, *calls, *responses, *texts])[:160]


def _times(*moments: datetime | None) -> str:
    return " ".join(f"{moment:%T.%f}" if moment else "-" for moment in moments)
