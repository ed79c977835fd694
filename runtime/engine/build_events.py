"""Construction of the engine's events (contract E2, E8). Events of cancellations are made by `seal`."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime import _platform, types
from runtime._pydantic_models import construct
from runtime.context import InvocationContext, new_invocation_id
from runtime.errors import ModelError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.node_info import NodeInfo
from runtime.events.rewound import UNDONE_REWIND_KEY
from runtime.invocation_scope import Failure
from runtime.models.llm_request import DeclaredTool
from runtime.models.llm_response import LlmResponse, parts_in
from runtime.valid_text import valid_values

CALL_ID_PREFIX = "adk-"


def user_event(
    ctx: InvocationContext, content: types.Content | None, state_delta: Mapping[str, Any] | None = None
) -> Event:
    """Return the event of a user message, with the state changes sent with it (contract L2)."""
    if state_delta:
        actions = EventActions(state_delta=dict(state_delta))
    else:
        actions = construct(EventActions)
    # On no branch, so all agents see the message.
    return _event(ctx, "user", with_role(content, "user"), actions, branch=None)


def model_event(
    ctx: InvocationContext,
    response: LlmResponse,
    tools: Mapping[str, DeclaredTool],
    *,
    event_id: str,
    actions: EventActions,
) -> Event:
    """Return the event of a model response whose calls all have ids; mark the long-running calls (contract T5)."""
    calls = response.get_function_calls()
    long_running = {call.id for call in calls if call.id and is_long_running(call, tools)}
    fields = {name: getattr(response, name) for name in response.model_fields_set}
    content = with_role(fields.pop("content", None), "model")
    if not response.partial:
        # Before the calls run: their arguments go to tools, and to other servers.
        content = valid_content(content)
    fields |= {"id": event_id, "long_running_tool_ids": long_running or None}
    return _event(ctx, ctx.agent.name, content, actions, branch=ctx.branch, **fields)


def function_response_event(
    ctx: InvocationContext, parts: Sequence[types.Part], actions: EventActions
) -> Event:
    """Return the event with the responses to the calls of a step (contract Q1, E8)."""
    content: types.Content | None = None
    if parts:
        content = construct(types.Content, role="user", parts=list(parts))
    return _event(ctx, ctx.agent.name, content, actions, branch=ctx.branch)


def request_event(ctx: InvocationContext, requests: Sequence[types.FunctionCall]) -> Event:
    """Return the event of the framework's requests to the person (contract T7, T8)."""
    content = types.Content(role="model", parts=[types.Part(function_call=call) for call in requests])
    event = _event(ctx, ctx.agent.name, content, EventActions(), branch=ctx.branch)
    # Long-running, so the invocation waits for the answer; a model's call of the same name never is.
    event.long_running_tool_ids = {call.id for call in requests if call.id}
    return event


def agent_event(
    ctx: InvocationContext, content: types.Content | None = None, actions: EventActions | None = None
) -> Event:
    """Return an event of the agent other than a model response."""
    return _event(
        ctx, ctx.agent.name, with_role(content, "model"), actions or EventActions(), branch=ctx.branch
    )


def node_end_event(
    ctx: InvocationContext,
    content: types.Content | None,
    actions: EventActions | None,
    *,
    output: Any,
    output_for: list[str],
    is_message: bool,
) -> Event:
    """Return the last event of a run of a workflow's node; `is_message` says that its latest message is the output."""
    info = construct(
        NodeInfo,
        path=ctx.node_path,
        output_for=output_for or None,
        has_ended=True,
        message_as_output=is_message or None,
    )
    return _event(
        ctx,
        ctx.agent.name,
        with_role(content, "model"),
        actions or EventActions(),
        branch=ctx.branch,
        node_info=info,
        output=output,
    )


def failure_event(ctx: InvocationContext, failure: Failure) -> Event:
    """Return the event for an exception at the end of an invocation."""
    # Users read the type only: the message of an exception may hold secrets.
    event = _event(ctx, failure.agent_name, None, EventActions(), branch=None)
    event.error_code = type(failure.error).__name__
    event.error_detail = str(failure.error) or None
    if failure.node_path:
        event.node_info = NodeInfo(path=failure.node_path)
    event.error_message = "Something went wrong while answering."
    return event


def replaced_by(event: Event, replacement: Event) -> Event:
    """Return the event, updated with the fields set in a plugin's replacement (contract Q6)."""
    # Partial and whole events share an id, and readers replace one by the other: identity and kind stay.
    kept = {"id", "invocation_id", "timestamp", "partial"}
    update = {name: getattr(replacement, name) for name in replacement.model_fields_set - kept}
    return event.model_copy(update={**update, "author": replacement.author or event.author})


def fill_in(ctx: InvocationContext, event: Event) -> Event:
    """Fill in the author, invocation id, branch and role if custom agent code left them out."""
    if not event.author:
        event.author = ctx.agent.name
    if not event.invocation_id:
        event.invocation_id = ctx.invocation_id
    if ctx.branch and not event.branch:
        event.branch = ctx.branch
    if ctx.node and not event.node_info:
        event.node_info = _node_info(ctx)
    if ctx.node and not event.isolation_scope:
        event.isolation_scope = ctx.node.isolation_scope
    if event.content and not event.content.role:
        role = "model"
        if event.get_function_responses():
            role = "user"
        event.content = with_role(event.content, role)
    return _with_metadata(ctx, event)


def with_role(content: types.Content | None, role: str) -> types.Content | None:
    """Return the content, with `role` if it has none (contract E8)."""
    # Models refuse contents without a role. A copy, because the content may be the agent author's object.
    if content is None or content.role:
        return content
    return content.model_copy(update={"role": role})


def valid_content(content: types.Content | None) -> types.Content | None:
    """Return the content with U+FFFD for lone surrogates; a valid content is returned itself."""
    if content is None:
        return None
    values = content.model_dump(exclude_none=True)
    valid = valid_values(values)
    if valid is values:
        return content
    return types.Content.model_validate(valid)


def with_call_ids(response: LlmResponse, ids: Sequence[str]) -> LlmResponse:
    """Return the response with these ids on its calls, in order. Do not change the given response."""
    if [call.id for call in response.get_function_calls()] == list(ids):
        return response
    remaining_ids = iter(ids)
    parts = []
    for part in parts_in(response.content):
        if part.function_call:
            call = part.function_call.model_copy(update={"id": next(remaining_ids)})
            part = part.model_copy(update={"function_call": call})
        parts.append(part)
    content = response.content and response.content.model_copy(update={"parts": parts})
    return response.model_copy(update={"content": content})


def is_long_running(call: types.FunctionCall, tools: Mapping[str, DeclaredTool]) -> bool:
    """Return True if the call's response may come later, from outside (contract T5)."""
    tool = tools.get(call.name or "")
    return tool is not None and tool.is_long_running


def new_call_id() -> str:
    """Return an id for a call of the framework, or for a call without an id from the model (contract Q3)."""
    return f"{CALL_ID_PREFIX}{_platform.new_id()}"


def error_response(error: ModelError) -> LlmResponse:
    """Return a model error as a response (contract E7)."""
    return LlmResponse(error_code=error.code, error_message=error.message, error_detail=error.detail or None)


def rewind_event(actions: EventActions, *, undoes: str | None = None) -> Event:
    """Return the event of a rewind.

    Args:
        undoes: id of an earlier rewind event, for a rewind that undoes it.
    """
    event = Event(author="user", invocation_id=new_invocation_id(), actions=actions)
    if undoes:
        event.custom_metadata = {UNDONE_REWIND_KEY: undoes}
    return event


def _event(
    ctx: InvocationContext,
    author: str,
    content: types.Content | None,
    actions: EventActions,
    branch: str | None,
    node_info: NodeInfo | None = None,
    **fields: Any,
) -> Event:
    event = construct(
        Event,
        **fields,
        author=author,
        invocation_id=ctx.invocation_id,
        branch=branch,
        content=content,
        actions=actions,
        node_info=node_info or _node_info(ctx),
        isolation_scope=_isolation_scope(ctx),
    )
    return _with_metadata(ctx, event)


def _isolation_scope(ctx: InvocationContext) -> str | None:
    if ctx.node is None:
        return None
    return ctx.node.isolation_scope


def _node_info(ctx: InvocationContext) -> NodeInfo | None:
    if ctx.node is None:
        return None
    return construct(NodeInfo, path=ctx.node.path)


def _with_metadata(ctx: InvocationContext, event: Event) -> Event:
    """Return the event with the `custom_metadata` of the run config (contract L10)."""
    given = ctx.run_config.custom_metadata
    own = event.custom_metadata or {}
    if given and not given.items() <= own.items():
        event.custom_metadata = {**given, **own}
    return event
