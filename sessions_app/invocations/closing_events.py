"""What the site itself writes into a log: where an interrupted invocation was taken up, and how one was cut off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runtime import types
from runtime.engine.seal import interrupted_event, seal_events
from runtime.events.calls import response_ids
from runtime.events.event import Event
from sessions_app.db.leases import Claim
from sessions_app.invocations.outcome import STOPPED_BY_STAFF, Outcome
from sessions_app.live.streamed_text import TextChunk
from sessions_app.models import InvocationStatus

RESUMED = "adk_resumed"
STOPPED_BY = "adk_stopped_by"
SEAL = "The call was interrupted; it may have had effects."


def begun_as(invocation_id: str, message: dict[str, Any], events: Sequence[Event]) -> Event | None:
    """The event with which an earlier attempt wrote the invocation's message; None when it did not come to that.

    An answer to a call may stand under the call's own invocation (spec R1).
    """
    content = types.Content.model_validate(message)
    answered = {part.function_response.id for part in content.parts or [] if part.function_response}
    for event in reversed(events):
        if event.author == "user" and (
            event.invocation_id == invocation_id or answered & response_ids(event)
        ):
            return event
    return None


def without_failures(begun: Event | None, events: list[Event]) -> list[Event]:
    """The log for one who tries again what `begun` began: without the text and the errors that cut it off."""
    if begun is None:
        return events
    first = next(index for index, event in enumerate(events) if event is begun)
    return [*events[:first], *(e for e in events[first:] if not (e.error_code or e.interrupted))]


def resumed_event(events: Sequence[Event], lease_token: int) -> Event:
    """Says, without content, that the invocation was taken up again: what older leases streamed is void."""
    return Event(
        author=_last_agent(events, events[0].author),
        invocation_id=events[0].invocation_id,
        custom_metadata={RESUMED: lease_token},
    )


def closing_events(
    claim: Claim, events: Sequence[Event], growing: Iterable[TextChunk], outcome: Outcome
) -> list[Event]:
    """The message if it came to nothing, the text streamed so far, answers for the calls left open, why it ended."""
    author, invocation_id = _last_agent(events, claim.app_name), claim.invocation_id
    begun = begun_as(invocation_id, claim.message, events)
    closing = [] if begun else [_message_event(claim)]
    texts = [
        interrupted_event(chunk.stream.author, invocation_id, chunk.text, thought=chunk.stream.thought)
        for chunk in growing
    ]
    has_text = bool(texts)
    closing += [*texts, *seal_events(events, begun.invocation_id if begun else invocation_id, SEAL)]
    if outcome.status != InvocationStatus.FAILED:
        if not has_text and not _is_closed(events, invocation_id):
            closing.append(interrupted_event(author, invocation_id))
        return [_by_staff(event) for event in closing] if outcome is STOPPED_BY_STAFF else closing
    code, message = outcome.error_code, outcome.error_message
    end = Event(author=author, invocation_id=invocation_id, error_code=code, error_message=message)
    return [*closing, end]


def _is_closed(events: Sequence[Event], invocation_id: str) -> bool:
    """Whether an earlier attempt wrote this end already, and died before it could say so."""
    return any(event.interrupted for event in events if event.invocation_id == invocation_id)


def _by_staff(event: Event) -> Event:
    """Where the text breaks off, the person reads that it was somebody else who stopped it."""
    return event.model_copy(update={"custom_metadata": {STOPPED_BY: "staff"}}) if event.interrupted else event


def _message_event(claim: Claim) -> Event:
    content = types.Content.model_validate(claim.message)
    return Event(author="user", invocation_id=claim.invocation_id, content=content)


def _last_agent(events: Sequence[Event], otherwise: str) -> str:
    return next((event.author for event in reversed(events) if event.author != "user"), otherwise)
