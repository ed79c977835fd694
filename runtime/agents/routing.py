"""Routing: choose the agent that handles a message or resumes an invocation (contract L8, R1).

The current agent is not stored anywhere; it follows from the events. An answer to a call goes to the agent of the call.
Any other message goes to the agent whose task is open, else to the latest agent, if its model could transfer back to
the root.
"""

from collections.abc import Iterator, Sequence

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.parallel_agent import ParallelAgent
from runtime.context import AgentProtocol
from runtime.engine.resume.agent_progress import (
    caller_of_work,
    entry_agent,
    find_latest_agent,
    recorded_states,
)
from runtime.engine.tasks import calls_of_open_tasks
from runtime.events.calls import MadeCall, answered_call_events
from runtime.events.event import Event
from runtime.events.summaries import last_agent_before_summary
from runtime.models.llm_response import has_answer


def route_message(root: BaseAgent, events: Sequence[Event]) -> BaseAgent:
    """Return the agent for the latest user message: the agent whose call it answers or whose task is open, else the
    latest agent.

    `events` must not contain rewound events. Events replaced by a summary may be missing.
    """
    last = next((event for event in reversed(events) if event.content), None)
    if last is not None and last.content and last.author == "user":
        for call_event in answered_call_events(events, last.content):
            agent = root.find_agent(call_event.author)
            if agent is not None:
                return root.get_agent(caller_of_work(agent).name)
    task = open_task(root, events)
    if task is not None:
        return root.get_agent(caller_of_work(root.get_agent(task.event.author)).name)
    return latest_agent(root, events)


def scope_of_message(root: BaseAgent, events: Sequence[Event], message: types.Content | None) -> str | None:
    """Return the `isolation_scope` of a message of the person: that of the call it answers, or the open task's."""
    answered = answered_call_events(events, message)
    if answered:
        return answered[0].isolation_scope
    task = open_task(root, events)
    if task is None:
        return None
    return task.call.id


def open_task(root: BaseAgent, events: Sequence[Event]) -> MadeCall | None:
    """Return the call of the task agent that the person talks to; None if there is none (contract A11)."""
    names = set()
    for agent in (root, *root.descendants()):
        if isinstance(agent, LlmAgent) and agent.works_for_parent and agent.mode == "task":
            names.add(agent.name)
    if not names:
        return None
    tasks = {made.call.id: made for made in calls_of_open_tasks(events, names)}
    for event in reversed(events):
        if event.isolation_scope in tasks:
            return tasks[event.isolation_scope]
    return next(iter(tasks.values()), None)


def latest_agent(root: BaseAgent, events: Sequence[Event]) -> BaseAgent:
    """Return the agent for a message that answers no call: the latest author that may receive it, else the root."""
    for name in _authors_newest_first(events):
        agent = root.find_agent(name)
        if agent is not None and (agent is root or _may_receive_message(agent)):
            return agent
    return root


def _authors_newest_first(events: Sequence[Event]) -> Iterator[str]:
    # A failed invocation does not change which agent gets the next message (contract L5).
    failed: set[str] = set()
    for event in reversed(events):
        if event.error_code and not has_answer(event.content):
            failed.add(event.invocation_id)
        elif event.author != "user" and event.invocation_id not in failed:
            yield event.author
    # The summary names the last agent, because the summarized events may not be loaded.
    name = last_agent_before_summary(events)
    if name:
        yield name


def route_resume(root: BaseAgent, began: BaseAgent, events: Sequence[Event]) -> AgentProtocol:
    """Return the agent to resume an interrupted invocation with; the invocation began with the agent `began`."""
    agent = find_latest_agent(root, events, events)
    if agent is None:
        return began
    return entry_agent(agent, began)


def reason_not_resumable(root: BaseAgent, events: Sequence[Event]) -> str | None:
    """Return why an interrupted invocation with these events cannot be resumed; None if it can.

    Every workflow agent or custom agent above an author must have recorded its state; the progress of LLM agents and
    parallel agents follows from the events themselves.
    """
    states, ended = recorded_states(root, events)
    for name in {event.author for event in events}:
        agent: BaseAgent | None = root.find_agent(name)
        while agent is not None:
            has_recorded_progress = agent.name in states or agent.name in ended
            if agent.records_progress and not has_recorded_progress and not isinstance(agent, ParallelAgent):
                return f"Agent {agent.name!r} recorded no state to resume from."
            agent = agent.parent_agent
    return None


def _may_receive_message(agent: BaseAgent) -> bool:
    """Return True if the agent and all agents above it are LLM agents that may transfer to their parent."""
    current: BaseAgent | None = agent
    while current is not None:
        if not isinstance(current, LlmAgent) or current.disallow_transfer_to_parent:
            return False
        if current.works_for_parent:
            return False
        current = current.parent_agent
    return True
