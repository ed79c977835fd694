"""The only place where the engine constructs events (spec E2, E8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime import _platform, types
from runtime.context import InvocationContext
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.models.llm_request import DeclaredTool
from runtime.models.llm_response import LlmResponse

CALL_ID_PREFIX = "adk-"


def user_event(
    ctx: InvocationContext, content: types.Content | None, state_delta: Mapping[str, Any] | None = None
) -> Event:
    """What the person said, with state changes that came along (spec L2)."""
    actions = EventActions(state_delta=dict(state_delta or {}))
    return _event(ctx, "user", with_role(content, "user"), actions, branch=None)


def model_event(
    ctx: InvocationContext,
    response: LlmResponse,
    tools: Mapping[str, DeclaredTool],
    *,
    event_id: str,
    actions: EventActions,
) -> Event:
    """A model's response, whose calls have ids; marks the long-running ones (spec T5)."""
    calls = calls_in(response)
    long_running = {call.id for call in calls if call.id and is_long_running(call, tools)}
    said = {name: getattr(response, name) for name in response.model_fields_set}
    said["content"] = with_role(response.content, "model")
    event = Event.model_construct(
        **said,
        author=ctx.agent.name,
        invocation_id=ctx.invocation_id,
        id=event_id,
        timestamp=_platform.now(),
        branch=ctx.branch,
        long_running_tool_ids=long_running or None,
        actions=actions,
    )
    return _with_metadata(ctx, event)


def function_response_event(
    ctx: InvocationContext, parts: Sequence[types.Part], actions: EventActions
) -> Event:
    """The answers to the calls of one step (spec Q1, E8)."""
    content = types.Content(role="user", parts=list(parts)) if parts else None
    return _event(ctx, ctx.agent.name, content, actions, branch=ctx.branch)


def request_event(ctx: InvocationContext, requests: Sequence[types.FunctionCall]) -> Event:
    """What the framework asks the person, as calls that are answered later, from outside (spec T7, T8)."""
    content = types.Content(role="model", parts=[types.Part(function_call=call) for call in requests])
    event = _event(ctx, ctx.agent.name, content, EventActions(), branch=ctx.branch)
    event.long_running_tool_ids = {call.id for call in requests if call.id}
    return event


def agent_event(
    ctx: InvocationContext, content: types.Content | None = None, actions: EventActions | None = None
) -> Event:
    """What an agent says or changes outside a model call."""
    return _event(
        ctx, ctx.agent.name, with_role(content, "model"), actions or EventActions(), branch=ctx.branch
    )


def complete(ctx: InvocationContext, event: Event) -> Event:
    """The event that an agent's own code made, with what it left out: whose it is, of which invocation and branch.

    What it says there stays.
    """
    if not event.author:
        event.author = ctx.agent.name
    if not event.invocation_id:
        event.invocation_id = ctx.invocation_id
    if ctx.branch and not event.branch:
        event.branch = ctx.branch
    if event.content and not event.content.role:
        event.content = with_role(event.content, "user" if event.get_function_responses() else "model")
    return _with_metadata(ctx, event)


def with_role(content: types.Content | None, role: str) -> types.Content | None:
    """The content, said in this role when it names none: a model takes no other (spec E8)."""
    if content is None or content.role:
        return content
    return content.model_copy(update={"role": role})


def calls_in(response: LlmResponse) -> list[types.FunctionCall]:
    """The function calls in a model's response, in order."""
    return [part.function_call for part in _parts(response.content) if part.function_call]


def with_call_ids(response: LlmResponse, ids: Sequence[str]) -> LlmResponse:
    """The response with these ids on its calls, in order; its own objects are the model's and stay as they are."""
    if all(call.id == call_id for call, call_id in zip(calls_in(response), ids, strict=True)):
        return response
    left = iter(ids)
    parts = [
        _with_call_id(part, next(left)) if part.function_call else part for part in _parts(response.content)
    ]
    content = response.content and response.content.model_copy(update={"parts": parts})
    return response.model_copy(update={"content": content})


def is_long_running(call: types.FunctionCall, tools: Mapping[str, DeclaredTool]) -> bool:
    """Whether the call's answer may come later, from outside (spec T5)."""
    tool = tools.get(call.name or "")
    return tool is not None and tool.is_long_running


def new_call_id() -> str:
    """An id for a call to which the model gave none (spec Q3)."""
    return f"{CALL_ID_PREFIX}{_platform.new_id()}"


def error_response(code: str, message: str) -> LlmResponse:
    """A model error as a response (spec E7)."""
    return LlmResponse(error_code=code, error_message=message)


def _event(
    ctx: InvocationContext,
    author: str,
    content: types.Content | None,
    actions: EventActions,
    branch: str | None,
) -> Event:
    event = Event(
        author=author, invocation_id=ctx.invocation_id, branch=branch, content=content, actions=actions
    )
    return _with_metadata(ctx, event)


def _with_metadata(ctx: InvocationContext, event: Event) -> Event:
    """The event with the metadata of the run (spec L10)."""
    if ctx.run_config.custom_metadata:
        event.custom_metadata = {**ctx.run_config.custom_metadata, **(event.custom_metadata or {})}
    return event


def _with_call_id(part: types.Part, call_id: str) -> types.Part:
    call = part.function_call and part.function_call.model_copy(update={"id": call_id})
    return part.model_copy(update={"function_call": call})


def _parts(content: types.Content | None) -> list[types.Part]:
    return (content.parts or []) if content else []
