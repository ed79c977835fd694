"""The hooks around a step: plugins first, then the agent's own callbacks (spec C1, C4)."""

from __future__ import annotations

from typing import Any, TypeVar

from runtime import types
from runtime.callbacks import Callback, as_list, first_answer
from runtime.context import AgentProtocol, Context
from runtime.engine.contents import own_copies
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools.base_tool import BaseTool

T = TypeVar("T")
Args = dict[str, Any]


async def before_agent(agent: AgentProtocol, context: Context) -> types.Content | None:
    """A reply that takes the agent's place (spec C2)."""
    given = {"callback_context": context}
    return await _answer(
        context, "before_agent", {"agent": agent, **given}, agent.before_agent_callback, given
    )


async def after_agent(agent: AgentProtocol, context: Context) -> types.Content | None:
    """A content to say after the agent (spec C2)."""
    given = {"callback_context": context}
    return await _answer(context, "after_agent", {"agent": agent, **given}, agent.after_agent_callback, given)


async def before_model(agent: LlmAgentProtocol, context: Context, request: LlmRequest) -> LlmResponse | None:
    """A response that takes the model's place; the request may be edited, its contents included (spec C2)."""
    plugins = context.invocation.plugin_manager
    if agent.before_model_callback or (plugins and plugins.implements("before_model_callback")):
        # Only for those who may edit them: what was said long ago is shared by all requests.
        request.contents = own_copies(request.contents)
    given = {"callback_context": context, "llm_request": request}
    return await _answer(context, "before_model", given, agent.before_model_callback, given)


async def after_model(agent: LlmAgentProtocol, context: Context, response: LlmResponse) -> LlmResponse:
    """The model's response, or what replaces it (spec C2)."""
    given = {"callback_context": context, "llm_response": response}
    return await _answer(context, "after_model", given, agent.after_model_callback, given) or response


async def on_model_error(
    agent: LlmAgentProtocol, context: Context, request: LlmRequest, error: Exception
) -> LlmResponse | None:
    """A response in place of a model call that failed (spec C1)."""
    given = {"callback_context": context, "llm_request": request, "error": error}
    return await _answer(context, "on_model_error", given, agent.on_model_error_callback, given)


async def before_tool(agent: LlmAgentProtocol, tool: BaseTool, args: Args, context: Context) -> Args | None:
    """A result that takes the tool's place; `args` may be changed in place (spec C2, Q5)."""
    given = {"tool": tool, "tool_context": context}
    asked = {**given, "tool_args": args}
    return await _answer(context, "before_tool", asked, agent.before_tool_callback, {**given, "args": args})


async def after_tool(
    agent: LlmAgentProtocol, tool: BaseTool, args: Args, context: Context, result: Any
) -> Any:
    """The tool's result, or what replaces it (spec C2)."""
    given = {"tool": tool, "tool_context": context}
    asked = {**given, "tool_args": args, "result": result}
    own = {**given, "args": args, "tool_response": result}
    answer = await _answer(context, "after_tool", asked, agent.after_tool_callback, own)
    return result if answer is None else answer


async def on_tool_error(
    agent: LlmAgentProtocol, tool: BaseTool, args: Args, context: Context, error: Exception
) -> Args | None:
    """A result in place of a tool that raised (spec T4)."""
    given = {"tool": tool, "tool_context": context, "error": error}
    asked = {**given, "tool_args": args}
    return await _answer(
        context, "on_tool_error", asked, agent.on_tool_error_callback, {**given, "args": args}
    )


async def _answer(
    context: Context,
    hook: str,
    asked: dict[str, Any],
    own: Callback[T] | list[Callback[T]] | None,
    given: dict[str, Any],
) -> T | None:
    """The first answer: plugins are `asked`, then the agent's `own` callbacks are `given` the same in their words."""
    plugins = context.invocation.plugin_manager
    if own is None and (plugins is None or not plugins.plugins):
        return None
    answer: T | None = await plugins.ask(f"{hook}_callback", **asked) if plugins else None
    if answer is None:
        answer = await first_answer(as_list(own), **given)
    context.state.note_changes()
    return answer
