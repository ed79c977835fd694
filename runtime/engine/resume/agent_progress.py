"""Progress of the agents of an invocation, read from its events (contract R1).

The runtime stores nothing but events, so any process can resume an invocation. The progress of an agent follows from
its own events since its latest start:

    agent_state of a workflow agent above it   the agent starts (a loop starts it once per round)
    transfer to it                             the agent starts
    an event of it, or of a node of it         the agent has begun
    end_of_agent                               the agent has ended
"""

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.context import AgentProtocol, InvocationContext
from runtime.events.calls import (
    MadeCalls,
    answered_call_events,
    call_ids,
    is_framework_request,
    response_ids,
)
from runtime.events.event import Event
from runtime.events.invocation_log import node_path_of


def has_begun(ctx: InvocationContext) -> bool:
    """Return True if the agent, or a node of it, has committed an event other than a failure since its latest start."""
    # A workflow itself commits no event; the paths of its nodes' events begin with its own path or name.
    below = f"{ctx.agent.name}@"
    if ctx.node_path:
        below = f"{ctx.node_path}/"
    for event in _events_since_start(ctx):
        is_own_or_below = is_own(event, ctx) or node_path_of(event).startswith(below)
        # A failure may have come before the agent's first event, in its callbacks.
        if is_own_or_below and (event.content or not event.error_code):
            return True
    return False


def has_escalated(ctx: InvocationContext) -> bool:
    """Return True if a descendant escalated since the context's agent recorded its latest state."""
    descendants = {agent.name for agent in ctx.agent.descendants()}
    for event in reversed(ctx.events()):
        if event.author == ctx.agent.name and event.actions.agent_state is not None:
            return False
        if event.author in descendants and event.actions.escalate:
            return True
    return False


def own_events(ctx: InvocationContext) -> list[Event]:
    """Return the events of the context's agent since its latest start."""
    own = [event for event in _events_since_start(ctx) if is_own(event, ctx)]
    own.reverse()
    return own


def _events_since_start(ctx: InvocationContext) -> Iterator[Event]:
    """Yield the invocation's events since the latest start of the context's agent, the latest first."""
    agent = ctx.agent
    ancestors = {ancestor.name for ancestor in _ancestors(agent)}
    for event in reversed(ctx.events()):
        is_restart = event.author in ancestors and event.actions.agent_state is not None
        if is_restart or event.actions.transfer_to_agent == agent.name:
            return
        yield event


def find_latest_start(events: Sequence[Event]) -> int:
    """Return the position of the first event of the work to resume.

    This is 0 unless the person answered a call after its wait had ended. Such an answer begins new work, and later
    calls belong to this work.
    """
    start = 0
    start_of_call: dict[str, int] = {}
    requests: set[str] = set()
    made = MadeCalls()
    for position, event in enumerate(events):
        answered: set[str] = set()
        if event.author == "user":
            answered = response_ids(event) & start_of_call.keys()
        if answered:
            pending_starts = [start_of_call[call_id] for call_id in answered if made.waits(call_id)]
            # An answer to a pending call resumes the work that made the call. Without a pending call the agents have
            # continued since the first answer (a progress report, for example), so this answer starts new work.
            # Answers to framework requests are no start: they let the original call run.
            if pending_starts:
                start = min(pending_starts)
            elif answered - requests:
                start = position
        start_of_call.update(dict.fromkeys(call_ids(event), start))
        if is_framework_request(event):
            requests |= call_ids(event)
        made.add([event])
    return start


def recorded_states(
    root: AgentProtocol, events: Sequence[Event]
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """Return the latest state of each agent, and the names of the ended agents.

    A new state of an agent restarts its descendants; a transfer restarts the target.
    """
    states: dict[str, dict[str, Any]] = {}
    ended: set[str] = set()
    for event in events:
        actions = event.actions
        if actions.transfer_to_agent is not None:
            ended.discard(actions.transfer_to_agent)
        if actions.agent_state is not None:
            states[event.author] = actions.agent_state
            ended.discard(event.author)
            agent = root.find_agent(event.author)
            if agent is not None:
                for descendant in agent.descendants():
                    states.pop(descendant.name, None)
                    ended.discard(descendant.name)
        if actions.end_of_agent:
            ended.add(event.author)
    return states, ended


def find_latest_agent(
    top: AgentProtocol, events: Sequence[Event], log: Sequence[Event]
) -> AgentProtocol | None:
    """Return the agent at or below `top` to continue after `events`, a part of `log`; None if there is none.

    This is the agent whose call the person answered, or else the transfer target or the author of the latest event.
    """
    for event in reversed(events):
        for name in _names_that_continue(event, log):
            agent = top.find_agent(name)
            if agent is not None:
                return agent
    return None


def _names_that_continue(event: Event, log: Sequence[Event]) -> list[str]:
    if event.author == "user":
        return [call_event.author for call_event in answered_call_events(log, event.content)]
    # The author has to ask the person about its other calls before the transfer takes place.
    if event.actions.transfer_to_agent and not event.actions.asks_person():
        return [event.actions.transfer_to_agent]
    return [event.author]


def entry_agent(agent: AgentProtocol, began: AgentProtocol) -> AgentProtocol:
    """Return the agent to run for `agent` to continue: its topmost workflow agent below `began`, or `agent` itself.

    A workflow agent then finds its place from its recorded state, and runs the rest of its sub-agents after `agent`.
    """
    outside = {ancestor.name for ancestor in _ancestors(began)}
    entry = caller_of_work(agent)
    for ancestor in _ancestors(agent):
        # Agents above `began` did not run in this invocation.
        if ancestor.name not in outside and not ancestor.offers_transfer:
            entry = ancestor
    return entry


def caller_of_work(agent: AgentProtocol) -> AgentProtocol:
    """Return the agent itself, or the agent above whose model has called it, directly or not."""
    while agent.works_for_parent and agent.parent_agent is not None:
        agent = agent.parent_agent
    return agent


def is_own(event: Event, ctx: InvocationContext) -> bool:
    """Return True if the context's agent committed the event."""
    # The branch matters: agents on parallel branches may transfer to the same agent. So does the node's run: an agent
    # in the loop of a workflow starts again in each round.
    is_same_agent = event.author == ctx.agent.name and event.branch == ctx.branch
    return is_same_agent and node_path_of(event) == ctx.node_path


def _ancestors(agent: AgentProtocol) -> list[AgentProtocol]:
    ancestors = []
    while agent.parent_agent is not None:
        agent = agent.parent_agent
        ancestors.append(agent)
    return ancestors
