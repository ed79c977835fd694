"""Eval set of the Agent Development Kit: conversations as they were, to evaluate agents against (`*.evalset.json`)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID

from django.utils import timezone

from runtime.events import Event
from runtime.events.calls import FRAMEWORK_CALLS
from sessions_app.codec import event_to_show
from sessions_app.data_protection.archive import as_json
from sessions_app.db.threads import in_thread
from sessions_app.masking import mask
from sessions_app.models import Session
from sessions_app.thread_pools import download_threads
from sessions_app.transcripts.batches import Batch, batches_of


async def stream_eval_set(name: str, session_ids: Iterable[UUID]) -> AsyncIterator[bytes]:
    """Yield an eval set with a case for each of the sessions that still exist, one after the other."""
    head = {"eval_set_id": name, "name": name, "creation_timestamp": timezone.now().timestamp()}
    yield as_json(head)[:-1] + b', "eval_cases": ['
    separator = b"\n"
    for session_id in session_ids:
        session = await in_thread(Session.objects.filter(pk=session_id).first)
        if session is not None:
            yield separator + as_json(await _case_of(session))
            separator = b",\n"
    yield b"\n]}\n"


async def _case_of(session: Session) -> dict[str, Any]:
    """Return the case of a session. Secrets are masked, and what was rewound is left out."""
    invocations: dict[str, dict[str, Any]] = {}
    async for batch in batches_of(session):
        await download_threads.run(_add_batch, invocations, batch)
    return {
        "eval_id": str(session.pk),
        "conversation": list(invocations.values()),
        "session_input": {
            "app_name": session.app_name,
            "user_id": str(session.user_id),
            "state": mask(session.initial_state),
        },
        "creation_timestamp": session.created_at.timestamp(),
    }


def _add_batch(invocations: dict[str, dict[str, Any]], batch: Batch) -> None:
    for row in batch.events:
        _add_event(invocations, event_to_show(mask(row.body)))


def _add_event(invocations: dict[str, dict[str, Any]], event: Event) -> None:
    """Add an event to its invocation. An invocation begins with a person's message: answers to calls are none."""
    if event.content is None or not event.content.parts:
        return
    answers = [one for one in event.get_function_responses() if one.name not in FRAMEWORK_CALLS]
    invocation = invocations.get(event.invocation_id)
    if event.author == "user":
        if not event.get_function_responses() and invocation is None:
            invocations[event.invocation_id] = _invocation(event)
        return
    if invocation is None:
        return
    calls = [one for one in event.get_function_calls() if one.name not in FRAMEWORK_CALLS]
    data = invocation["intermediate_data"]
    data["tool_uses"] += map(_json_of, calls)
    data["tool_responses"] += map(_json_of, answers)
    if event.is_final_response() and event.text():
        invocation["final_response"] = _json_of(event.content)
    elif event.text():
        data["intermediate_responses"].append([event.author, _json_of(event.content)["parts"]])


def _invocation(message: Event) -> dict[str, Any]:
    return {
        "invocation_id": message.invocation_id,
        "user_content": _json_of(message.content),
        "intermediate_data": {"tool_uses": [], "tool_responses": [], "intermediate_responses": []},
        "creation_timestamp": message.timestamp,
    }


def _json_of(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(value.model_dump_json(exclude_none=True))
    return found
