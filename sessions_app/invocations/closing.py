"""What the site itself writes into a log: where an interrupted invocation was taken up, and how one was cut off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime import types
from runtime.engine.abort import interrupted_event, seal_events
from runtime.events.calls import response_ids
from runtime.events.event import Event
from sessions_app.hot_path import Claim
from sessions_app.invocations.outcome import Outcome
from sessions_app.live.text import Fragment
from sessions_app.models import InvocationStatus

RESUMED = "adk_resumed"
SEAL = "The call was interrupted; it may have had effects."


def begun_as(claim: Claim, events: Sequence[Event]) -> str | None:
    """The invocation id under which an earlier attempt wrote the claim's message; None when it did not come to that.

    An answer to a call may stand under the call's own invocation (spec R1).
    """
    content = types.Content.model_validate(claim.message)
    answered = {part.function_response.id for part in content.parts or [] if part.function_response}
    for event in reversed(events):
        if event.author == "user" and (
            event.invocation_id == claim.invocation_id or answered & response_ids(event)
        ):
            return event.invocation_id
    return None


def resumed_event(events: Sequence[Event], attempt: int) -> Event:
    """Says, without content, that the invocation was taken up again."""
    return Event(
        author=_last_agent(events, events[0].author),
        invocation_id=events[0].invocation_id,
        custom_metadata={RESUMED: attempt},
    )


def closing_events(
    claim: Claim, events: Sequence[Event], growing: Iterable[Fragment], outcome: Outcome
) -> list[Event]:
    """The message if it came to nothing, the text streamed so far, answers for the calls left open, why it ended."""
    author, invocation_id = _last_agent(events, claim.app_name), claim.invocation_id
    closing = [] if begun_as(claim, events) else [_message_event(claim)]
    texts = [
        interrupted_event(fragment.author, invocation_id, fragment.text, thought=fragment.thought)
        for fragment in growing
    ]
    has_text = bool(texts)
    closing += [*texts, *seal_events(events, invocation_id, SEAL)]
    if outcome.status != InvocationStatus.FAILED:
        return closing if has_text else [*closing, interrupted_event(author, invocation_id)]
    code, message = outcome.error_code, outcome.error_message
    end = Event(author=author, invocation_id=invocation_id, error_code=code, error_message=message)
    return [*closing, end]


def _message_event(claim: Claim) -> Event:
    content = types.Content.model_validate(claim.message)
    return Event(author="user", invocation_id=claim.invocation_id, content=content)


def _last_agent(events: Sequence[Event], otherwise: str) -> str:
    return next((event.author for event in reversed(events) if event.author != "user"), otherwise)
