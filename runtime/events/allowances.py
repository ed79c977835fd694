"""Allowances: a person lets an agent call a tool for the rest of a session without a question (contract T7).

An allowance is the person's answer to a confirmation request of the framework with such an offer. The log alone
holds allowances: a crash loses none, a rewind takes them back, and no state, tool or model can give an allowance.
"""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from runtime import types
from runtime.events.calls import REQUEST_CONFIRMATION, is_framework_call
from runtime.events.event import Event
from runtime.events.tool_confirmation import ToolConfirmation, call_to_confirm, offers_allowance

WITHDRAWAL_KEY = "adk_withdrawn_allowance"
"""Key in `custom_metadata` of an event without content, to withdraw an allowance."""

USED_KEY = "adk_allowed_earlier"
"""Key in `custom_metadata` of a function response event: times of the allowances used, by call id."""


class ToolOfAgent(BaseModel):
    """The subject of an allowance: an agent's tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str
    tool: str


Allowances = Mapping[ToolOfAgent, float]
"""Tools to call without a question, with the time of the person's answer in seconds since the epoch."""


def find_allowances(events: Iterable[Event], earlier: Allowances | None = None) -> dict[ToolOfAgent, float]:
    """Return the allowances after effective events.

    Args:
        earlier: allowances before the first event.
    """
    allowed = dict(earlier or {})
    offered: dict[str, ToolOfAgent] = {}
    for event in events:
        withdrawn = withdrawn_tool(event)
        if withdrawn is not None:
            allowed.pop(withdrawn, None)
        offered.update(_offers(event))
        if event.author != "user":
            continue
        for answer in event.get_function_responses():
            tool = offered.pop(answer.id or "", None)  # Only the first answer counts.
            if tool is not None and _allows_session(answer):
                allowed[tool] = event.timestamp
    return allowed


def withdrawal_of(tool: ToolOfAgent, invocation_id: str) -> Event:
    """Return an event of the person to withdraw the allowance."""
    return Event(
        author="user", invocation_id=invocation_id, custom_metadata={WITHDRAWAL_KEY: tool.model_dump()}
    )


def withdrawn_tool(event: Event) -> ToolOfAgent | None:
    """Return the tool whose allowance the event withdraws; None for all other events."""
    if event.author != "user" or not event.custom_metadata or WITHDRAWAL_KEY not in event.custom_metadata:
        return None
    try:
        return ToolOfAgent.model_validate(event.custom_metadata[WITHDRAWAL_KEY])
    # Metadata may come from a client: a malformed value withdraws nothing.
    except ValidationError:
        return None


def with_used_allowances(event: Event, used: Mapping[str, float]) -> Event:
    """Record the times of the used allowances by call id; return the event."""
    if used:
        event.custom_metadata = {**(event.custom_metadata or {}), USED_KEY: dict(used)}
    return event


def used_allowance(event: Event, call_id: str) -> float | None:
    """Return the time of the allowance used by an answered call of the event; None if the call used none."""
    used = (event.custom_metadata or {}).get(USED_KEY)
    given_at = used.get(call_id) if isinstance(used, Mapping) else None
    return float(given_at) if isinstance(given_at, int | float) else None


def _offers(event: Event) -> dict[str, ToolOfAgent]:
    """Return the tools for which the framework offers an allowance in this event, by request id."""
    offers: dict[str, ToolOfAgent] = {}
    for call in event.get_function_calls():
        args = call.args or {}
        original = call_to_confirm(args)
        is_request = call.name == REQUEST_CONFIRMATION and is_framework_call(event, call)
        if is_request and call.id and offers_allowance(args) and original:
            offers[call.id] = ToolOfAgent(agent=event.author, tool=str(original.get("name")))
    return offers


def _allows_session(response: types.FunctionResponse) -> bool:
    try:
        answer = ToolConfirmation.of_response(response.response)
    except (ValueError, TypeError):
        return False
    return response.name == REQUEST_CONFIRMATION and answer.confirmed and answer.for_session
