"""Events committed by the site itself: the marker of a resumed invocation, and the end of a stopped invocation.

The end of an invocation belongs in the log, also when its agent could not write it: without these events a call would
stay open, and the text that people have read would be gone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime import types
from runtime.engine.seal import interrupted_event, seal_events, seal_waiting_calls
from runtime.events.event import Event as RuntimeEvent
from runtime.events.event_actions import EventActions
from runtime.events.node_info import NodeInfo
from sessions_app.history.event_marks import (
    INTERRUPTED_CALL,
    STOPPED_CALL,
    failed_tool_mark,
    resumed_mark,
    stopped_by_staff_mark,
)
from sessions_app.invocations.message_event import find_message_event, marks_of
from sessions_app.invocations.outcome import STOPPED_BY_STAFF, Outcome
from sessions_app.live.streamed_text import TextChunk
from sessions_app.store.sql.leases import Claim


@dataclass(frozen=True)
class FailureOrigin:
    """Place where the exception that ended an invocation was raised.

    Attributes:
        agent_name: empty without an exception; then the last agent is the author of the error.
        node_path: path of the run of the node; None outside of a workflow.
        tool_name: empty if no tool raised it.
    """

    agent_name: str = ""
    node_path: str | None = None
    tool_name: str = ""


def resumed_event(events: Sequence[RuntimeEvent], lease_token: int) -> RuntimeEvent:
    """Return an event without content to mark a resumed invocation: text streamed under older leases is void."""
    return RuntimeEvent(
        author=_find_last_agent(events, events[0].author),
        invocation_id=events[0].invocation_id,
        custom_metadata=resumed_mark(lease_token),
    )


def closing_events(
    claim: Claim,
    events: Sequence[RuntimeEvent],
    uncommitted: Iterable[TextChunk],
    outcome: Outcome,
    origin: FailureOrigin,
) -> list[RuntimeEvent]:
    """Return the events to end an invocation from outside, in this order:

    - the message, if no attempt has committed it,
    - the streamed text, marked as interrupted,
    - responses to the open calls,
    - the error of a failure; for any other outcome an interrupted event, unless the log has such an event.

    Args:
        origin: where the exception of a failure was raised.
    """
    author = _find_last_agent(events, claim.app_name)
    invocation_id = claim.invocation_id
    event_invocation_id = invocation_id
    closing = []
    message_event = find_message_event(invocation_id, claim.message, events)
    if message_event:
        event_invocation_id = message_event.invocation_id
    else:
        closing.append(_build_message_event(claim))
    # PostgreSQL may have committed an event although its commit was cancelled: nobody has ended its growing text.
    stored_ids = {event.id for event in events}
    texts = [
        interrupted_event(chunk.stream.author, invocation_id, chunk.text, thought=chunk.stream.thought)
        for chunk in uncommitted
        if chunk.stream.event_id not in stored_ids
    ]
    closing += [*texts, *seal_events(events, event_invocation_id, INTERRUPTED_CALL)]
    if claim.is_cancelled and outcome is STOPPED_BY_STAFF:  # Staff also stop an invocation whose calls wait.
        closing += seal_waiting_calls(events, event_invocation_id, STOPPED_CALL)
    if not outcome.is_failure:
        if not texts and not _is_closed(events, invocation_id):
            closing.append(interrupted_event(author, invocation_id))
        if outcome is STOPPED_BY_STAFF:
            return [_mark_stopped_by_staff(event) for event in closing]
        return closing
    end = RuntimeEvent(
        author=origin.agent_name or author,
        invocation_id=invocation_id,
        error_code=outcome.error_code,
        error_message=outcome.error_message,
        node_info=NodeInfo(path=origin.node_path) if origin.node_path else None,
        custom_metadata=failed_tool_mark(origin.tool_name) if origin.tool_name else None,
    )
    return [*closing, end]


def _is_closed(events: Sequence[RuntimeEvent], invocation_id: str) -> bool:
    # An earlier attempt may have committed the event, and died before it ended the row.
    return any(event.interrupted for event in events if event.invocation_id == invocation_id)


def _mark_stopped_by_staff(event: RuntimeEvent) -> RuntimeEvent:
    """Return the event, an interrupted event with a mark: by it the page says who stopped the answer."""
    if not event.interrupted:
        return event
    return event.model_copy(update={"custom_metadata": stopped_by_staff_mark()})


def _build_message_event(claim: Claim) -> RuntimeEvent:
    return RuntimeEvent(
        author="user",
        invocation_id=claim.invocation_id,
        content=types.Content.model_validate(claim.message),
        actions=EventActions(state_delta=claim.state_delta),
        custom_metadata=marks_of(claim),
    )


def _find_last_agent(events: Sequence[RuntimeEvent], default: str) -> str:
    return next((event.author for event in reversed(events) if event.author != "user"), default)
