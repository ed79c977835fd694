"""Going on with an invocation from its events: pure decisions on what was committed (spec R1, T5).

What an agent was doing is told by its own events of the invocation (`places`), and by what the person answered since.
Deciding is done here, acting elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runtime import types
from runtime.engine.resume.agent_progress import entry_of, is_own, latest_agent, own_events
from runtime.events.calls import (
    answered_ids,
    answers_by_call,
    call_ids,
    is_framework_request,
    is_pending,
    response_ids,
)
from runtime.events.event import Event
from runtime.events.event_actions import EventActions

if TYPE_CHECKING:
    from runtime.agents.base_agent import BaseAgent
    from runtime.context import InvocationContext


@dataclass(frozen=True)
class Continue:
    """Ask the model next, with what there is."""


@dataclass(frozen=True)
class Pause:
    """A long-running call waits for its answer."""


@dataclass(frozen=True)
class Done:
    """The turn was complete."""


@dataclass(frozen=True)
class HandOver:
    """The turn ended with a transfer."""

    agent_name: str


@dataclass(frozen=True)
class Replay:
    """Calls of the last response never ran, or nothing is known of them: run them (at least once)."""

    calls: list[types.FunctionCall] = field(default_factory=list)


@dataclass(frozen=True)
class Ask:
    """Calls were answered "pending", but what they need was not asked of the person yet (spec T7, T8)."""

    calls: list[types.FunctionCall]
    actions: EventActions


Decision = Continue | Pause | Done | HandOver | Replay | Ask


def decide_resume(ctx: InvocationContext) -> Decision:
    """What an LLM agent has to do when its invocation goes on.

    Only calls that the agent itself made in this invocation are ever replayed: a history that a client supplied
    executes no tool.
    """
    log = ctx.events()
    if calls := _call_event(ctx, log, _answered_since_last_word(ctx, log)):
        return _decide_on_calls(calls, log, pauses=ctx.is_resumable)
    own = [event for event in own_events(ctx) if _says_something(event)]
    request = own.pop() if own and is_framework_request(own[-1]) else None
    if not own:
        return Continue()
    if request is None or _is_open(request, log):
        decision = _decide_on_latest(own, is_asked=request is not None)
        if decision == Done() and (agent := _who_went_on(ctx, log, own[-1])):
            return HandOver(entry_of(agent, ctx.agent).name)
        if decision is not None:
            return decision
    calls = _call_event(ctx, log, call_ids(own[-1]) | response_ids(own[-1]))
    return _decide_on_calls(calls, log, pauses=ctx.is_resumable) if calls else Continue()


def _decide_on_latest(own: Sequence[Event], *, is_asked: bool) -> Decision | None:
    """What the latest of the agent's own events comes to by itself; None when the calls of its step tell.

    `is_asked` when the person is being asked for what the calls need.
    """
    latest, actions = own[-1], own[-1].actions
    if latest.get_function_calls():
        return None
    if actions.asks_person() and not is_asked:
        return Ask(_answered_by(latest, own), actions)
    if actions.transfer_to_agent:
        return HandOver(actions.transfer_to_agent)
    return None if latest.get_function_responses() and not actions.skip_summarization else Done()


def _decide_on_calls(calls: Event, log: Sequence[Event], *, pauses: bool) -> Decision:
    """What calls of the agent ask for, by the invocation's log.

    `pauses` when a first result of a long-running tool stops the turn (Q10).
    """
    since = _own_since(calls, log)
    waiting = calls.long_running_tool_ids or set()
    answers = answers_by_call(log)
    silent = waiting if _are_known_to_have_run(calls, log, since) else set()
    not_run = [
        call
        for call in calls.get_function_calls()
        if call.id and call.id not in answers and call.id not in silent
    ]
    if not_run:
        return Replay(not_run)
    pending = [call_id for call_id in waiting if is_pending(answers.get(call_id, []))]
    if any(pauses or call_id not in answers for call_id in pending):
        return Pause()
    return (
        Pause() if any(_is_open(event, log) for event in since if is_framework_request(event)) else Continue()
    )


def _are_known_to_have_run(calls: Event, log: Sequence[Event], since: Sequence[Event]) -> bool:
    """Whether the calls ran. A long-running tool may say nothing at first.

    Then what was recorded of it or its siblings tells, or a later message of the person, who answers when all is at
    rest.
    """
    if any(later.content or later.actions != EventActions() for later in since):
        return True
    latest = next(
        later for later in reversed(log) if later is calls or (later.author == "user" and later.content)
    )
    return latest is not calls


def _answered_by(event: Event, events: Sequence[Event]) -> list[types.FunctionCall]:
    answered = response_ids(event)
    calls = {call.id: call for earlier in events for call in earlier.get_function_calls()}
    return [call for call_id, call in calls.items() if call_id in answered]


def _answered_since_last_word(ctx: InvocationContext, log: Sequence[Event]) -> set[str]:
    """The ids of the calls that the person has answered since the agent last said something, on any branch.

    What it said before, or did beside the call, be it a transfer, does not end the turn that such an answer begins.
    """
    answered: set[str] = set()
    for event in reversed(log):
        if event.author == "user":
            answered |= response_ids(event)
        elif event.author == ctx.agent.name and _says_something(event):
            break
    return answered


def _who_went_on(ctx: InvocationContext, log: Sequence[Event], latest: Event) -> BaseAgent | None:
    """Who below the agent spoke, or was answered, after the agent's latest event; None when nobody did."""
    since = log[_position(log, latest) + 1 :]
    agent = latest_agent(ctx.agent, since, log)
    return None if agent is ctx.agent else agent


def _call_event(ctx: InvocationContext, log: Sequence[Event], ids: set[str]) -> Event | None:
    """The latest event in which the agent made one of these calls."""
    made = (event for event in reversed(log) if is_own(event, ctx) and not is_framework_request(event))
    return next((event for event in made if ids & call_ids(event)), None)


def _own_since(calls: Event, log: Sequence[Event]) -> list[Event]:
    """What the agent that made the calls committed after them."""
    return [
        e for e in log[_position(log, calls) + 1 :] if (e.author, e.branch) == (calls.author, calls.branch)
    ]


def _position(log: Sequence[Event], event: Event) -> int:
    return next(position for position, each in enumerate(log) if each is event)


def _is_open(request: Event, log: Sequence[Event]) -> bool:
    """Whether the person has yet to answer some of what a request asks."""
    return not call_ids(request) <= answered_ids(log)


def _says_something(event: Event) -> bool:
    """Whether the event tells how far its agent got: not when it was cut off, or only records a change."""
    if event.error_code or event.interrupted:
        return False
    return bool(event.content or event.actions.transfer_to_agent)
