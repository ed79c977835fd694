"""Decisions on the tasks of an agent: pure functions of the committed events (contract A11)."""

from collections.abc import Container, Mapping, Sequence

from runtime import types
from runtime.context import InvocationContext
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.resume.agent_progress import is_own, own_events
from runtime.events.calls import MadeCall, made_calls
from runtime.events.event import Event
from runtime.events.rewound import drop_rewound
from runtime.tools.base_tool import BaseTool
from runtime.tools.task_tools import TaskAgentTool, finishes_task


def is_task(call: types.FunctionCall, tools: Mapping[str, BaseTool]) -> bool:
    """Return True if the call gives a task to an agent that may talk to the person."""
    tool = tools.get(call.name or "")
    return isinstance(tool, TaskAgentTool) and tool.is_task


def group_calls(
    calls: Sequence[types.FunctionCall], tools: Mapping[str, BaseTool]
) -> list[list[types.FunctionCall]]:
    """Return the calls that run at once, then each task alone."""
    at_once = [call for call in calls if not is_task(call, tools)]
    tasks = [[call] for call in calls if is_task(call, tools)]
    return [at_once, *tasks] if at_once else tasks


def calls_of_open_tasks(events: Sequence[Event], names: Container[str]) -> list[MadeCall]:
    """Return the calls of agents in `names` that have no response, in the order of the events."""
    effective = drop_rewound(events)
    return [made for made in made_calls(effective) if made.call.name in names and not made.answers]


def open_tasks(agent: LlmAgentProtocol, ctx: InvocationContext) -> list[types.FunctionCall]:
    """Return the agent's calls of earlier invocations whose tasks have not ended."""
    sources = agent.canonical_tool_sources
    names = {source.name for source in sources if isinstance(source, TaskAgentTool) and source.is_task}
    if not names:
        return []
    calls = []
    for made in calls_of_open_tasks(ctx.session.events, names):
        if made.event.invocation_id != ctx.invocation_id and is_own(made.event, ctx):
            calls.append(made.call)
    return calls


def has_finished_task(ctx: InvocationContext) -> bool:
    """Return True if the result of the agent's task is its latest event."""
    own = own_events(ctx)
    return bool(own) and finishes_task(own[-1])
