"""Events -> contents: what of a session's history the model is sent (spec A7, Q3, Q10, Q11).

A chain of pure functions, each `list[Event] -> list[Event]`, and a cache: what earlier invocations said does not
change, so their contents are made once per agent and shared between requests.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from runtime import types
from runtime.context import InvocationContext
from runtime.engine.build_events import CALL_ID_PREFIX
from runtime.engine.pairing import pair_responses_with_calls, settle_latest_response
from runtime.events.branch import is_visible_from
from runtime.events.calls import FRAMEWORK_CALLS, call_ids, response_ids, trailing_start
from runtime.events.event import Event
from runtime.events.rewound import drop_rewound
from runtime.events.summaries import apply_summaries

if TYPE_CHECKING:
    from runtime.agents.llm_agent import LlmAgent

CONTENTS_KEPT = 100_000
"""So many contents of earlier invocations are kept to be sent again, those of all sessions together."""


def build_contents(agent: LlmAgent, ctx: InvocationContext) -> list[types.Content]:
    """The contents for the next model call of `agent`. Those of earlier invocations are shared: do not edit them."""
    events = ctx.session.events
    if agent.include_contents == "none":
        return contents_of(current_turn(events, agent.name, ctx.branch), agent.name, ctx.branch)
    start = trailing_start(events, ctx.invocation_id)
    session = ctx.session
    key = (session.app_name, session.user_id, session.id, agent.name, ctx.branch)
    view = _views.take(key)
    if not view.fits(events, start):
        view.clear()
    tail = events[view.count :]
    settled = tail[: min(start, len(events) - 1) - view.count]
    if not view.is_reached_by(tail) and not _leaves_calls_open(settled):
        view.extend(settled, contents_of(settled, agent.name, ctx.branch, is_latest=False))
        tail = events[view.count :]
    if view.is_reached_by(tail):
        view.clear()
        tail = events
    _views.keep(key, view)
    return view.contents + contents_of(tail, agent.name, ctx.branch)


def contents_of(
    events: Sequence[Event], agent_name: str, branch: str | None, *, is_latest: bool = True
) -> list[types.Content]:
    """The contents of a stretch of history as the agent sees it; `is_latest` when the history ends with it."""
    chain: tuple[Callable[[list[Event]], list[Event]], ...] = (
        drop_rewound,
        apply_summaries,
        lambda kept: [event for event in kept if is_visible_from(branch, event.branch)],
        lambda kept: [without_framework_parts(event) for event in kept if _says_something(event)],
        lambda kept: [as_seen_by(agent_name, event) for event in kept],
        settle_latest_response if is_latest else list,
        pair_responses_with_calls,
    )
    kept = list(events)
    for link in chain:
        kept = link(kept)
    return [to_content(event.content) for event in kept if event.content and event.content.parts]


def current_turn(events: Sequence[Event], agent_name: str, branch: str | None) -> Sequence[Event]:
    """The events from the latest thing that someone else said to this agent, where it hears it (spec Q11)."""
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event.author == agent_name or event.get_function_responses() or not _says_something(event):
            continue
        if is_visible_from(branch, event.branch):
            return events[index:]
    return events


def without_framework_parts(event: Event) -> Event:
    """The event without what the framework asked the person, and what the person answered (spec T7, T8)."""
    parts = (event.content.parts or []) if event.content else []
    kept = [part for part in parts if not _is_framework_part(part)]
    if event.content is None or len(kept) == len(parts):
        return event
    return event.model_copy(update={"content": event.content.model_copy(update={"parts": kept})})


def as_seen_by(agent_name: str, event: Event) -> Event:
    """The event itself, or another agent's words as context in the role of the user."""
    if event.author in ("user", agent_name):
        return event
    parts = [types.Part(text="For context:")]
    for part in event.content.parts or [] if event.content else []:
        parts += _as_context(event.author, part)
    content = types.Content(role="user", parts=parts) if len(parts) > 1 else None
    return event.model_copy(update={"content": content, "author": "user"})


def to_content(content: types.Content) -> types.Content:
    """A copy to send: without the call ids that the framework made (spec Q3)."""
    parts = [_without_made_id(part) for part in content.parts or []]
    return types.Content.model_construct(role=content.role, parts=parts)


def own_copies(contents: Sequence[types.Content]) -> list[types.Content]:
    """Contents that may be edited at will: they share nothing with the history or with other requests."""
    return [
        types.Content.model_construct(
            role=content.role, parts=[_own_copy(part) for part in content.parts or []]
        )
        for content in contents
    ]


def _own_copy(part: types.Part) -> types.Part:
    """As a deep copy, at a third of its price: most parts hold nothing but a text."""
    copied = part.model_copy()
    for name in part.model_fields_set:
        value = getattr(part, name)
        if isinstance(value, BaseModel):
            setattr(copied, name, value.model_copy(deep=True))
    return copied


def _says_something(event: Event) -> bool:
    if event.actions.compaction:
        return True
    if not event.content or not event.content.parts:
        return False
    return any(part.text != "" and not _is_framework_part(part) for part in event.content.parts)


def _is_framework_part(part: types.Part) -> bool:
    asked = part.function_call or part.function_response
    return asked is not None and asked.name in FRAMEWORK_CALLS


def _as_context(author: str, part: types.Part) -> list[types.Part]:
    if part.thought:
        return []
    if part.text is not None:
        return [types.Part(text=f"[{author}] said: {part.text}")] if part.text.strip() else []
    if part.function_call:
        args = json.dumps(part.function_call.args or {}, ensure_ascii=False, default=str)
        return [
            types.Part(text=f"[{author}] called tool `{part.function_call.name}` with parameters: {args}")
        ]
    if part.function_response:
        result = json.dumps(part.function_response.response or {}, ensure_ascii=False, default=str)
        return [types.Part(text=f"[{author}] `{part.function_response.name}` tool returned result: {result}")]
    return [part]


def _without_made_id(part: types.Part) -> types.Part:
    if part.function_call and (part.function_call.id or "").startswith(CALL_ID_PREFIX):
        call = part.function_call.model_copy(update={"id": None})
        return part.model_copy(update={"function_call": call})
    if part.function_response and (part.function_response.id or "").startswith(CALL_ID_PREFIX):
        response = part.function_response.model_copy(update={"id": None})
        return part.model_copy(update={"function_response": response})
    return part.model_copy()


@dataclass
class _View:
    """The contents of a settled prefix of a session's events, as one agent on one branch sees it."""

    count: int = 0
    last: Event | None = None
    contents: list[types.Content] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)

    def fits(self, events: Sequence[Event], start: int) -> bool:
        """Whether `events` begin with the very prefix, and it ends before `start`."""
        return self.count == 0 or (self.count <= start and events[self.count - 1] is self.last)

    def is_reached_by(self, tail: Sequence[Event]) -> bool:
        """Whether the tail changes what the prefix means: a late response, a rewind, a summary."""
        return self.count > 0 and any(
            event.actions.rewind_before_invocation_id
            or event.actions.compaction
            or not self.calls.isdisjoint(response_ids(event))
            for event in tail
        )

    def extend(self, events: Sequence[Event], contents: list[types.Content]) -> None:
        """Take in further settled events."""
        if not events:
            return
        self.count += len(events)
        self.last = events[-1]
        self.contents = self.contents + contents
        for event in events:
            self.calls |= call_ids(event)

    @property
    def weight(self) -> int:
        """What it counts for among all that is kept: its contents, and never nothing."""
        return max(1, len(self.contents))

    def clear(self) -> None:
        """Begin anew."""
        self.count, self.last, self.contents, self.calls = 0, None, [], set()


_ViewKey = tuple[str, str, str, str, str | None]
"""App, user, session, agent and branch."""


class _Views:
    """The views of this process, the longest unused forgotten first."""

    def __init__(self) -> None:
        self._views: OrderedDict[_ViewKey, _View] = OrderedDict()
        self._size = 0

    def take(self, key: _ViewKey) -> _View:
        """The view that was kept, or an empty one; it may change until it is kept again."""
        view = self._views.pop(key, None)
        if view is None:
            return _View()
        self._size -= view.weight
        return view

    def keep(self, key: _ViewKey, view: _View) -> None:
        """Keep the view as it is now, unless there is nothing in it, as in the first invocation of a session."""
        if view.count == 0:
            return
        self._views[key] = view
        self._size += view.weight
        while self._size > CONTENTS_KEPT and len(self._views) > 1:
            self._size -= self._views.popitem(last=False)[1].weight


_views = _Views()


def _leaves_calls_open(events: Sequence[Event]) -> bool:
    """Whether the stretch ends with calls whose responses may still follow it directly."""
    return bool(events) and bool(events[-1].get_function_calls())
