"""Where the agents of an invocation are, as its events tell (spec R1).

What an agent was doing is told by its own events of the invocation, since it was last started: by a marker
(`agent_state`) that a workflow agent above it left, or by a transfer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.events.calls import answers_by_call, call_ids, is_framework_request, is_pending, response_ids
from runtime.events.event import Event

if TYPE_CHECKING:
    from runtime.agents.base_agent import BaseAgent
    from runtime.context import InvocationContext


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
    above = {ancestor.name for ancestor in _ancestors(agent)}
    own: list[Event] = []
    for event in ctx.events():
        is_marker = event.author in above and event.actions.agent_state is not None
        if is_marker or event.actions.transfer_to_agent == agent.name:
            own = []
        elif is_own(event, ctx):
            own.append(event)
    return own


def latest_start(events: Sequence[Event]) -> int:
    """Where what the invocation goes on with began: a position among its events.

    It is the first one, unless the person answers a call that nobody waits for any more, as when a report on the work
    was answered before its result comes. The agents have gone on since, so such an answer is a start of its own, and
    what is called and waited for from there on goes on with it.
    """
    start = 0
    started: dict[str, int] = {}
    requests: set[str] = set()
    for position, event in enumerate(events):
        if event.author == "user" and (answered := response_ids(event) & started.keys()):
            before = answers_by_call(events[:position])
            waiting = [started[call_id] for call_id in answered if is_pending(before.get(call_id, []))]
            start = min(waiting, default=position if answered - requests else start)
        started.update(dict.fromkeys(call_ids(event), start))
        requests |= call_ids(event) if is_framework_request(event) else set()
    return start


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


def latest_agent(top: BaseAgent, events: Sequence[Event], log: Sequence[Event]) -> BaseAgent | None:
    """The agent at or below `top` that goes on after these events of the log; None when they are nobody's there.

    It is who asked for what the person answers, or whom the last event hands over to, or its author. Before it is
    handed over, the person is asked for what calls beside the transfer need.
    """
    asked = {call_id: event.author for event in log for call_id in call_ids(event)}
    for event in reversed(events):
        target = None if event.actions.asks_person() else event.actions.transfer_to_agent
        names = [target or event.author]
        if event.author == "user":
            names = [asked[call_id] for call_id in response_ids(event) if call_id in asked]
        agent = next((agent for name in names if (agent := top.find_agent(name))), None)
        if agent is not None:
            return agent
    return None


def entry_of(agent: BaseAgent, began: BaseAgent) -> BaseAgent:
    """Where to start so that `agent` goes on: the topmost workflow agent above it, which knows its place, or itself.

    Those above the agent that `began` are not on the way.
    """
    beyond = {above.name for above in _ancestors(began)}
    way = [agent, *(above for above in _ancestors(agent) if above.name not in beyond)]
    return next((above for above in reversed(way) if not above.offers_transfer), agent)


def is_own(event: Event, ctx: InvocationContext) -> bool:
    """Whether the event is the agent's of this call, on its branch."""
    return event.author == ctx.agent.name and event.branch == ctx.branch


def _ancestors(agent: BaseAgent) -> list[BaseAgent]:
    above = []
    while agent.parent_agent is not None:
        agent = agent.parent_agent
        above.append(agent)
    return above
