"""Which agent of an app answers: pure questions on its tree and the history (spec L8, R1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.parallel_agent import ParallelAgent
from runtime.engine.resume.agent_progress import entry_of, latest_agent, recorded_states
from runtime.events.calls import find_call_event, response_ids
from runtime.events.event import Event
from runtime.events.summaries import last_agent_before_summary


def agent_that_answers(root: BaseAgent, events: Sequence[Event]) -> BaseAgent:
    """Who asked for what the person answers; else who spoke last and may go on; else the root.

    `events` are without rewound ones. What a summary stands for may be missing: it tells who went on there.
    """
    last = next((event for event in reversed(events) if event.content), None)
    if last is not None and last.author == "user":
        for call_id in response_ids(last):
            call_event = find_call_event(events, call_id)
            agent = root.find_agent(call_event.author) if call_event else None
            if agent is not None:
                return agent
    for name in _speakers(events):
        agent = root.find_agent(name)
        if agent is not None and (agent is root or _may_go_on(agent)):
            return agent
    return root


def _speakers(events: Sequence[Event]) -> Iterator[str]:
    """The names of those who spoke, the last one first."""
    yield from (event.author for event in reversed(events) if event.author != "user")
    if name := last_agent_before_summary(events):
        yield name


def agent_that_resumes(root: BaseAgent, began: BaseAgent, events: Sequence[Event]) -> BaseAgent:
    """Where an interrupted invocation, whose events these are and which that agent `began`, goes on."""
    agent = latest_agent(root, events, events)
    return began if agent is None else entry_of(agent, began)


def why_not_resumable(root: BaseAgent, events: Sequence[Event]) -> str | None:
    """Why an interrupted invocation, whose events these are, cannot go on where it stopped; None when it can.

    LLM agents are understood from their events. Every other agent on the way has to have recorded its state, but for
    a parallel one, whose sub-agents tell.
    """
    states, ended = recorded_states(root, events)
    for name in {event.author for event in events}:
        agent: BaseAgent | None = root.find_agent(name)
        while agent is not None:
            known = agent.name in states or agent.name in ended
            if not isinstance(agent, LlmAgent | ParallelAgent) and not known:
                return f"Agent {agent.name!r} recorded no state to go on from."
            agent = agent.parent_agent
    return None


def _may_go_on(agent: BaseAgent) -> bool:
    """Whether the next message may start here: this agent and all above it are LLM agents that may hand back."""
    current: BaseAgent | None = agent
    while current is not None:
        if not isinstance(current, LlmAgent) or current.disallow_transfer_to_parent:
            return False
        current = current.parent_agent
    return True
