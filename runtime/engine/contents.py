"""Contents of a model request, built from the session's events (contract A7, Q3, Q10, Q11).

    events -> effective -> visible on the branch -> as this agent sees them -> paired with responses -> contents

`contents_of` is this chain of pure functions. A session is one cached prefix and a tail:

    | settled events of earlier invocations | current invocation |
    | ContentsPrefix, kept in the cache     | converted each time |

Events never change, so the contents of the prefix stay valid until a later event reaches back: a late response, a
rewind or a summary. Then everything is built again. The first construction of a long prefix yields to other tasks
between slices, because it would block the event loop for all other sessions.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, TypeVar

from runtime import types
from runtime._pydantic_models import deep_copy
from runtime.artifacts.referenced_artifacts import positions_of_files
from runtime.context import InvocationContext, NodeCall
from runtime.engine.build_events import CALL_ID_PREFIX
from runtime.engine.contents_cache import ContentsCache, ContentsPrefix
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.pairing import (
    CallsByEvent,
    calls_by_event,
    drop_text_before_latest_response,
    pair_responses_with_calls,
)
from runtime.events.calls import (
    FRAMEWORK_CALLS,
    REQUEST_INPUT,
    MadeCall,
    MadeCalls,
    call_ids,
    made_calls,
    parts_of,
    response_ids,
    trailing_start,
    unwrapped,
)
from runtime.events.event import Event, is_visible_from
from runtime.events.quotation import quote_parts
from runtime.events.rewound import drop_rewound
from runtime.events.summaries import apply_summaries, changes_effective_events

_cache = ContentsCache()

SLICE_EVENTS = 200
"""Events per slice; converting a slice takes a few milliseconds."""
T = TypeVar("T")


class BuiltContents(NamedTuple):
    """Contents of a model request.

    Attributes:
        with_files: positions of the contents with file parts.
    """

    contents: list[types.Content]
    with_files: list[int]


async def build_contents(agent: LlmAgentProtocol, ctx: InvocationContext) -> BuiltContents:
    """Return the contents for the agent's next model call, from the events at the time of this call.

    Requests share the contents of earlier invocations: do not edit them; edit `own_copies`.
    """
    session = ctx.session
    events = session.events
    # Parallel agents append events while this coroutine awaits: later code reads up to `count` only.
    count = len(events)
    if ctx.node is not None and ctx.node.isolation_scope is not None:
        contents = _contents_of_task(events[:count], agent.name, ctx.branch, ctx.node)
        return BuiltContents(contents, positions_of_files(contents))
    if ctx.node is not None and ctx.node.message is not None and not ctx.node.sees_history:
        contents = _node_contents(events[ctx.scope.begins_at : count], agent.name, ctx.branch, ctx.node)
        return BuiltContents(contents, positions_of_files(contents))
    if agent.include_contents == "none":
        contents = derive_contents(events, agent.name, ctx.branch, this_turn_only=True)
        return BuiltContents(contents, positions_of_files(contents))
    start = trailing_start(events, ctx.invocation_id)
    key = (session.app_name, session.user_id, session.id, agent.name, ctx.branch)
    # Taken out of the cache while it changes: another request of the agent then builds its own prefix.
    prefix = _cache.take(key)
    if not prefix.fits(events, start):
        prefix.clear()
    tail = events[prefix.count :]
    # The last event stays in the tail: if it is a response, it decides which events before it are dropped.
    settled = tail[: min(start, count - 1) - prefix.count]
    # No cut between an event with calls and its responses, which the prefix could not take in later.
    if settled and not prefix.is_changed_by(tail) and not settled[-1].get_function_calls():
        await _extend(prefix, settled, agent.name, ctx.branch)
        tail = tail[len(settled) :]
    if prefix.is_changed_by(tail):
        prefix.clear()
        tail = events[:count]
    _cache.put(key, prefix)
    if ctx.node is not None and ctx.node.message is not None:
        later = _node_contents(tail, agent.name, ctx.branch, ctx.node)
    else:
        later = contents_of(tail, agent.name, ctx.branch)
    later_with_files = positions_of_files(later, len(prefix.contents))
    return BuiltContents(prefix.contents + later, prefix.with_files + later_with_files)


def derive_contents(
    events: Sequence[Event], agent_name: str, branch: str | None, *, this_turn_only: bool
) -> list[types.Content]:
    """Return the contents of a session's events as the agent sees them, without the cache and without files."""
    if this_turn_only:
        events = current_turn(events, agent_name, branch)
    return contents_of(events, agent_name, branch)


def contents_of(
    events: Sequence[Event], agent_name: str, branch: str | None, isolation_scope: str | None = None
) -> list[types.Content]:
    """Return the contents of a session that ends with these events, as the agent sees them."""
    shown = _as_shown(_effective(events), agent_name, branch, isolation_scope)
    shown = drop_text_before_latest_response(shown)
    return _paired_contents(shown, calls_by_event(made_calls(shown)))


def _contents_of_task(
    events: Sequence[Event], agent_name: str, branch: str | None, node: NodeCall
) -> list[types.Content]:
    """Return the task as a message, then the agent's own events and what the person has said to it."""
    contents = contents_of(events, agent_name, branch, node.isolation_scope)
    if node.message:
        contents.insert(0, to_content(node.message))
    return contents


def _node_contents(
    events: Sequence[Event], agent_name: str, branch: str | None, node: NodeCall
) -> list[types.Content]:
    """Return the contents of the conversation, if the agent sees it, the node's message, and the node's own events."""
    own: list[Event] = []
    others: list[Event] = []
    own_calls: set[str] = set()
    for event in events:
        is_own = event.node_info is not None and event.node_info.path == node.path
        # An answer of the user to a call of the node has no path.
        if is_own or (event.author == "user" and response_ids(event) & own_calls):
            own.append(_with_answers_as_texts(event))
            own_calls |= call_ids(event)
        else:
            others.append(event)
    contents = contents_of(own, agent_name, branch)
    if node.message is not None:
        contents.insert(0, to_content(node.message))
    if not node.sees_history:
        return contents
    return contents_of(others, agent_name, branch) + contents


def _with_answers_as_texts(event: Event) -> Event:
    """Return the event of the person with the answers to the node's questions as texts."""
    parts: list[types.Part] = []
    for answer in event.get_function_responses():
        if answer.name != REQUEST_INPUT:
            continue
        text = unwrapped(answer.response)
        if not isinstance(text, str):
            text = json.dumps(text, ensure_ascii=False)
        parts.append(types.Part(text=text))
    if event.content is None or not parts:
        return event
    return event.model_copy(update={"content": event.content.model_copy(update={"parts": parts})})


async def _extend(
    prefix: ContentsPrefix, events: Sequence[Event], agent_name: str, branch: str | None
) -> None:
    """Append the following events and their contents to the prefix; yield to other tasks between slices."""
    shown, made = await _shown_with_calls(events, agent_name, branch)
    calls_of = calls_by_event(made)
    async for piece in in_slices(shown):
        prefix.add(_paired_contents(piece, calls_of))
    if any(map(changes_effective_events, events)):
        # Also the calls that a summary has replaced: a late response shows them again.
        made = made_calls(events)
    prefix.cover(events, made)


async def _shown_with_calls(
    events: Sequence[Event], agent_name: str, branch: str | None, *, are_effective: bool = False
) -> tuple[list[Event], list[MadeCall]]:
    """Return the effective events as the agent sees them, and their calls; yield to other tasks between slices."""
    shown: list[Event] = []
    made = MadeCalls()
    async for piece in in_slices(events):
        if not are_effective and any(map(changes_effective_events, piece)):
            # A rewind reaches back over slices: start again with the effective events. Few histories have rewinds.
            return await _shown_with_calls(_effective(events), agent_name, branch, are_effective=True)
        shown_piece = _as_shown(piece, agent_name, branch)
        made.add(shown_piece)
        shown += shown_piece
    return shown, made.in_order


def _effective(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events without rewound events, and with summaries in place of the events they replace."""
    if any(map(changes_effective_events, events)):
        return apply_summaries(drop_rewound(events))
    return events


def _as_shown(
    events: Sequence[Event], agent_name: str, branch: str | None, isolation_scope: str | None = None
) -> list[Event]:
    """Return the visible events, as the agent sees them."""
    shown = []
    for event in events:
        is_visible = event.isolation_scope == isolation_scope and is_visible_from(branch, event.branch)
        if is_visible and _has_content_for_model(event):
            shown.append(as_seen_by(agent_name, without_framework_parts(event)))
    return shown


def _paired_contents(events: Sequence[Event], calls_of: CallsByEvent) -> list[types.Content]:
    paired = pair_responses_with_calls(events, calls_of)
    return [to_content(content) for content in paired if content.parts]


def current_turn(events: Sequence[Event], agent_name: str, branch: str | None) -> Sequence[Event]:
    """Return the events since the latest message to this agent, by the user or another agent (contract Q11).

    After a transfer, the turn begins with the message to the agent that has handed over.
    """
    addressee = agent_name
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event.isolation_scope is not None or not is_visible_from(branch, event.branch):
            continue
        if event.actions.transfer_to_agent == addressee:
            addressee = event.author
        if event.author == addressee or event.get_function_responses() or not _has_content_for_model(event):
            continue
        return events[index:]
    return events


def without_framework_parts(event: Event) -> Event:
    """Return the event without the framework's requests to the person and the answers to them (contract T7, T8)."""
    parts = parts_of(event)
    if event.content is None or not any(map(_is_framework_part, parts)):
        return event
    kept = [part for part in parts if not _is_framework_part(part)]
    return event.model_copy(update={"content": event.content.model_copy(update={"parts": kept})})


def as_seen_by(agent_name: str, event: Event) -> Event:
    """Return the event; turn another agent's event into a user message with a quotation."""
    if event.author in ("user", agent_name):
        return event
    content: types.Content | None = None
    parts = quote_parts(event.author, parts_of(event))
    if parts:
        content = types.Content(role="user", parts=parts)
    return event.model_copy(update={"content": content, "author": "user"})


def to_content(content: types.Content) -> types.Content:
    """Return a copy to send, without generated call ids (contract Q3).

    The parts are copies too, but share their values: a tool that edits a request changes no event.
    """
    return content.model_copy(update={"parts": [_without_generated_id(part) for part in content.parts or ()]})


async def own_copies(contents: Sequence[types.Content]) -> list[types.Content]:
    """Return copies for callbacks to edit, which share nothing with the session or with other requests."""
    copies: list[types.Content] = []
    async for piece in in_slices(contents):
        copies += deep_copy(piece)
    return copies


def _has_content_for_model(event: Event) -> bool:
    if event.actions.compaction:
        return True
    for part in parts_of(event):
        if part.text != "" and not _is_framework_part(part):
            return True
    return False


def _is_framework_part(part: types.Part) -> bool:
    call_or_response = part.function_call or part.function_response
    return call_or_response is not None and call_or_response.name in FRAMEWORK_CALLS


def _without_generated_id(part: types.Part) -> types.Part:
    call_or_response = part.function_call or part.function_response
    if call_or_response is None or not (call_or_response.id or "").startswith(CALL_ID_PREFIX):
        return part.model_copy()
    without_id = call_or_response.model_copy(update={"id": None})
    if part.function_call:
        return part.model_copy(update={"function_call": without_id})
    return part.model_copy(update={"function_response": without_id})


async def in_slices(items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """Yield consecutive slices; let other tasks run between two slices."""
    for start in range(0, len(items), SLICE_EVENTS):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + SLICE_EVENTS]
