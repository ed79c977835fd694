"""Answers to calls of an agent that has changed since: they continue on the new code if the calls still exist there."""

from collections.abc import Sequence

from runtime import types
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import agents_named, tools_of
from runtime.apps.app import App
from runtime.events.calls import (
    FRAMEWORK_CALLS,
    REMOTE_QUESTIONS,
    answered_call_events,
    find_call,
    id_of_requested_call,
    ids_answered_by,
)
from runtime.events.event import Event as RuntimeEvent
from runtime.tools.base_toolset import BaseToolset
from runtime.workflow.workflow import Workflow
from sessions_app.agent_apps.registry import versions
from sessions_app.errors import AgentChangedError
from sessions_app.history.event_marks import writer_of
from sessions_app.models import Invocation
from sessions_app.process.threads import in_thread
from sessions_app.store.sql.leases import Claim


async def check_calls_exist(claim: Claim, app: App, events: Sequence[RuntimeEvent]) -> None:
    """Check that the agents of the app still have the tools and nodes whose calls the claim's message answers.

    Raises:
        AgentChangedError: the app has changed since, and one of them is gone.
    """
    message = types.Content.model_validate(claim.message)
    answered = ids_answered_by(message)
    for event in answered_call_events(events, message):
        for call in event.get_function_calls():
            name = _called_tool(call, events)
            if call.id not in answered or _may_call_again(app, event, name):
                continue
            # Only now, for a query. Callbacks may add tools to requests, so a missing tool alone proves no change.
            if await _has_changed_since(claim, event):
                raise AgentChangedError(f"Agent {event.author!r} no longer has {name or 'the node'!r}.")


def _called_tool(call: types.FunctionCall, events: Sequence[RuntimeEvent]) -> str:
    """Return the name of the tool that a call is about; empty for a question of a node or a remote agent."""
    requested = id_of_requested_call(call)
    if requested and call.name in FRAMEWORK_CALLS:
        made = find_call(events, requested)
        if made is not None:
            return made.name or ""
    return "" if call.name in FRAMEWORK_CALLS | REMOTE_QUESTIONS else call.name or ""


def _may_call_again(app: App, event: RuntimeEvent, tool_name: str) -> bool:
    """True if an agent may make the call again. The tools of toolsets, which may need a network, count as existing."""
    for agent in agents_named(app.root_agent, event.author):
        if isinstance(agent, Workflow):
            runs = event.node_info.path.split("/") if event.node_info else []
            # The nodes that a node has started are in no graph.
            if not tool_name and len(runs) > 1 and not _has_node(agent, runs):
                continue
        elif isinstance(agent, LlmAgent) and tool_name:
            sources = tools_of(agent)
            if not any(isinstance(source, BaseToolset) or source.name == tool_name for source in sources):
                continue
        return True
    return False


def _has_node(workflow: Workflow, runs: Sequence[str]) -> bool:
    """True if the graph has the node whose run follows that of the workflow."""
    names = [run.rpartition("@")[0] for run in runs]
    if workflow.name not in names[:-1]:
        return False
    return names[names.index(workflow.name) + 1] in workflow.graph.nodes


async def _has_changed_since(claim: Claim, event: RuntimeEvent) -> bool:
    asked_by = writer_of(event.invocation_id, event.custom_metadata)
    rows = Invocation.objects.filter(session=claim.session_id, invocation_id=asked_by)
    then = await in_thread(rows.values_list("agent_version", flat=True).first)
    return bool(then) and then != versions().get(claim.app_name)
