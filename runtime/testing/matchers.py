"""Matchers for events: a matcher equals all events that it describes.

Compare a list of matchers with a list of events, so a failed assertion shows both lists. The pytest plugin prints them
in the same form (`outline`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.events.event import Event


@dataclass(frozen=True, eq=False, repr=False)
class EventMatcher:
    """Description of an event; `matcher == event` is True if the event fits."""

    text: str
    matches: Callable[[Event], bool]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.matches(other)

    __hash__ = None  # type: ignore[assignment]  # equal to many events that differ

    def __repr__(self) -> str:
        return self.text


def says(text: str = "", *, by: str | None = None) -> EventMatcher:
    """Match an event with `text` in its text, by any author or only by the agent `by`."""
    author = f", by={by!r}" if by else ""
    return EventMatcher(
        f"says({text!r}{author})",
        lambda event: bool(event.text()) and text in event.text() and by in (None, event.author),
    )


def calls(name: str, /, **args: Any) -> EventMatcher:
    """Match an event with a call of a function with these arguments; further arguments are allowed."""
    return EventMatcher(
        _expression("calls", name, args),
        lambda event: any(call.name == name and _has(call.args, args) for call in event.get_function_calls()),
    )


def responds(name: str, /, **response: Any) -> EventMatcher:
    """Match an event with a response of a function with these items. A result that is no dict is the item `result`."""
    return EventMatcher(
        _expression("responds", name, response),
        lambda event: any(
            answer.name == name and _has(answer.response, response)
            for answer in event.get_function_responses()
        ),
    )


def transfers_to(agent_name: str) -> EventMatcher:
    """Match the event that hands the invocation to an agent."""
    return EventMatcher(
        f"transfers_to({agent_name!r})", lambda event: event.actions.transfer_to_agent == agent_name
    )


def outline(item: object) -> str:
    """Return an event as an expression of matchers, and other objects as their `repr`."""
    if not isinstance(item, Event):
        return repr(item)
    expressions = [
        _expression("calls", call.name or "", call.args or {}) for call in item.get_function_calls()
    ]
    for answer in item.get_function_responses():
        expressions.append(_expression("responds", answer.name or "", answer.response or {}))
    if item.actions.transfer_to_agent:
        expressions.append(f"transfers_to({item.actions.transfer_to_agent!r})")
    if item.text():
        expressions.append(f"says({item.text()!r}, by={item.author!r})")
    if item.error_code:
        expressions.append(f"fails with {item.error_code}: {item.error_message}")
    return " ".join(expressions) or f"event of {item.author!r} without content"


def _has(found: Mapping[str, Any] | None, expected: Mapping[str, Any]) -> bool:
    items = found or {}
    return all(key in items and items[key] == value for key, value in expected.items())


def _expression(verb: str, name: str, items: Mapping[str, Any]) -> str:
    arguments = [repr(name)]
    arguments += [f"{key}={value!r}" for key, value in items.items()]
    return f"{verb}({', '.join(arguments)})"
