"""Going on with an invocation from its events: pure decisions on what was committed (spec R1, T5).

What an agent was doing is told by its own events of the invocation, since it was last started: by a marker
(`agent_state`) that a workflow agent above it left, or by a transfer. Deciding is done here, acting elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime import types
from runtime.events.calls import FRAMEWORK_CALLS, answers_by_call, is_pending, response_ids
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
    events = own_events(ctx)
    for index, event in reversed(list(enumerate(events))):
        if event.error_code or event.interrupted:
            continue
        if event.get_function_calls():
            return _decide_on_calls(event, ctx.events(), events[index + 1 :], pauses=ctx.is_resumable)
        if event.actions.transfer_to_agent:
            return HandOver(event.actions.transfer_to_agent)
        if event.get_function_responses():
            if event.actions.skip_summarization:
                return Done()
            if event.actions.asks_person():
                return Ask(_answered_by(event, events), event.actions)
            continue  # the event with the calls says whether all are answered
        if event.content:
            return Done()
    return Continue()


def _decide_on_calls(event: Event, log: Sequence[Event], since: Sequence[Event], *, pauses: bool) -> Decision:
    """What the latest calls ask for, by the invocation's log and what the agent itself committed since.

    `pauses` when a first result of a long-running tool stops the turn (Q10).
    """
    waiting = event.long_running_tool_ids or set()
    answers = answers_by_call(log)
    silent = waiting if _is_known_to_have_run(event, log, since) else set()
    not_run = [
        call
        for call in event.get_function_calls()
        if call.id and call.id not in answers and call.id not in silent and call.name not in FRAMEWORK_CALLS
    ]
    if not_run:
        return Replay(not_run)
    pending = [call_id for call_id in waiting if is_pending(answers.get(call_id, []))]
    if any(pauses or call_id not in answers for call_id in pending):
        return Pause()
    return Continue()


def _answered_by(event: Event, events: Sequence[Event]) -> list[types.FunctionCall]:
    answered = response_ids(event)
    calls = {call.id: call for earlier in events for call in earlier.get_function_calls()}
    return [call for call_id, call in calls.items() if call_id in answered]


def _is_known_to_have_run(event: Event, log: Sequence[Event], since: Sequence[Event]) -> bool:
    """Whether the calls of the event ran. A long-running tool may say nothing at first.

    Then what was recorded of it or its siblings tells, or a later message of the person, who answers when all is at
    rest.
    """
    if any(later.content or later.actions != EventActions() for later in since):
        return True
    latest = next(
        later for later in reversed(log) if later is event or (later.author == "user" and later.content)
    )
    return latest is not event


def has_begun(ctx: InvocationContext) -> bool:
    """Whether the agent of this call has said anything since it was started."""
    return bool(own_events(ctx))


def has_escalated(ctx: InvocationContext) -> bool:
    """Whether an agent below this one escalated since this one recorded its latest state."""
    below = {agent.name for agent in ctx.agent.descendants()}
    for event in reversed(ctx.events()):
        if event.author == ctx.agent.name and event.actions.agent_state is not None:
            return False
        if event.author in below and event.actions.escalate:
            return True
    return False


def own_events(ctx: InvocationContext) -> list[Event]:
    """What the agent of this call committed since it was last started: by a marker above it, or by a transfer."""
    agent = ctx.agent
    above = _ancestors(agent)
    own: list[Event] = []
    for event in ctx.events():
        is_marker = event.author in above and event.actions.agent_state is not None
        if is_marker or event.actions.transfer_to_agent == agent.name:
            own = []
        elif event.author == agent.name and event.branch == ctx.branch:
            own.append(event)
    return own


def recorded_states(root: BaseAgent, events: Sequence[Event]) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The latest state of each agent, and the agents that ended.

    A new state of an agent is a new start for those below it, a transfer one for whom it goes to.
    """
    states: dict[str, dict[str, Any]] = {}
    ended: set[str] = set()
    for event in events:
        ended.discard(event.actions.transfer_to_agent or "")
        if event.actions.agent_state is not None:
            states[event.author] = event.actions.agent_state
            ended.discard(event.author)
            agent = root.find_agent(event.author)
            for below in agent.descendants() if agent else ():
                states.pop(below.name, None)
                ended.discard(below.name)
        if event.actions.end_of_agent:
            ended.add(event.author)
    return states, ended


def entry_of(agent: BaseAgent) -> BaseAgent:
    """Where to start so that `agent` goes on: the topmost workflow agent above it, which knows its place, or itself."""
    entry = agent
    current: BaseAgent | None = agent
    while current is not None:
        if not current.offers_transfer:
            entry = current
        current = current.parent_agent
    return entry


def _ancestors(agent: BaseAgent) -> set[str]:
    names = set()
    while agent.parent_agent is not None:
        agent = agent.parent_agent
        names.add(agent.name)
    return names
