"""Hooks of agents, models and tools (contract C1, C2, C4).

Each hook calls the app's plugins first, then the agent's callbacks. The first answer other than None wins; later hooks
are not called.
"""

from typing import Any, TypeVar

from runtime import types
from runtime.callbacks import Callbacks, as_list, first_answer
from runtime.context import AgentProtocol, Context
from runtime.engine.contents import own_copies
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.errors import ConfigurationError, with_article
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools.base_tool import BaseTool

T = TypeVar("T")
Args = dict[str, Any]


async def before_agent(agent: AgentProtocol, context: Context) -> types.Content | None:
    """Return a content in place of the agent's run, or None."""
    kwargs = {"callback_context": context}
    callbacks = agent.before_agent_callback
    answer = await _ask_in_turn(context, "before_agent", {"agent": agent, **kwargs}, callbacks, kwargs)
    return _check_answer(answer, types.Content, "before_agent_callback", agent)


async def after_agent(agent: AgentProtocol, context: Context) -> types.Content | None:
    """Return a content to add after the agent's run, or None."""
    kwargs = {"callback_context": context}
    callbacks = agent.after_agent_callback
    answer = await _ask_in_turn(context, "after_agent", {"agent": agent, **kwargs}, callbacks, kwargs)
    return _check_answer(answer, types.Content, "after_agent_callback", agent)


async def on_agent_error(agent: AgentProtocol, context: Context, error: Exception) -> None:
    """Report the exception of an agent call to the plugins, which cannot replace it (contract C4)."""
    plugins = context.invocation.plugin_manager
    if plugins is not None:
        await plugins.tell("on_agent_error_callback", agent=agent, callback_context=context, error=error)


async def before_model(agent: LlmAgentProtocol, context: Context, request: LlmRequest) -> LlmResponse | None:
    """Return a response in place of the model call, or None. Hooks may edit the request and its contents."""
    plugins = context.invocation.plugin_manager
    if agent.before_model_callback or (plugins and plugins.implements("before_model_callback")):
        # Contents of earlier invocations are shared between requests, so hooks get copies that they may edit.
        request.contents = await own_copies(request.contents)
    kwargs = {"callback_context": context, "llm_request": request}
    answer = await _ask_in_turn(context, "before_model", kwargs, agent.before_model_callback, kwargs)
    return _check_answer(answer, LlmResponse, "before_model_callback", agent)


async def after_model(agent: LlmAgentProtocol, context: Context, response: LlmResponse) -> LlmResponse:
    """Return the model's response or its replacement."""
    kwargs = {"callback_context": context, "llm_response": response}
    answer = await _ask_in_turn(context, "after_model", kwargs, agent.after_model_callback, kwargs)
    return _check_answer(answer, LlmResponse, "after_model_callback", agent) or response


async def on_model_error(
    agent: LlmAgentProtocol, context: Context, request: LlmRequest, error: Exception
) -> LlmResponse | None:
    """Return a response in place of a failed model call, or None."""
    kwargs = {"callback_context": context, "llm_request": request, "error": error}
    answer = await _ask_in_turn(context, "on_model_error", kwargs, agent.on_model_error_callback, kwargs)
    return _check_answer(answer, LlmResponse, "on_model_error_callback", agent)


async def before_tool(agent: LlmAgentProtocol, tool: BaseTool, args: Args, context: Context) -> Args | None:
    """Return a result in place of the tool call, or None. Hooks may change `args` in place (contract Q5)."""
    plugin_kwargs = {"tool": tool, "tool_args": args, "tool_context": context}
    agent_kwargs = {"tool": tool, "args": args, "tool_context": context}
    callbacks = agent.before_tool_callback
    return await _ask_in_turn(context, "before_tool", plugin_kwargs, callbacks, agent_kwargs)


async def after_tool(
    agent: LlmAgentProtocol, tool: BaseTool, args: Args, context: Context, result: Any
) -> Any:
    """Return the tool's result or its replacement."""
    plugin_kwargs = {"tool": tool, "tool_args": args, "tool_context": context, "result": result}
    agent_kwargs = {"tool": tool, "args": args, "tool_context": context, "tool_response": result}
    callbacks = agent.after_tool_callback
    answer = await _ask_in_turn(context, "after_tool", plugin_kwargs, callbacks, agent_kwargs)
    return result if answer is None else answer


async def on_tool_error(
    agent: LlmAgentProtocol, tool: BaseTool, args: Args, context: Context, error: Exception
) -> Args | None:
    """Return a result in place of the tool's exception, or None (contract T4)."""
    plugin_kwargs = {"tool": tool, "tool_args": args, "tool_context": context, "error": error}
    agent_kwargs = {"tool": tool, "args": args, "tool_context": context, "error": error}
    callbacks = agent.on_tool_error_callback
    return await _ask_in_turn(context, "on_tool_error", plugin_kwargs, callbacks, agent_kwargs)


async def _ask_in_turn(
    context: Context,
    hook: str,
    plugin_kwargs: dict[str, Any],
    callbacks: Callbacks[T],
    agent_kwargs: dict[str, Any],
) -> T | None:
    """Return the first answer of the plugins and the agent's callbacks, or None.

    Args:
        plugin_kwargs: arguments of the plugins, whose parameters have other names than a callback's (contract C4).
        agent_kwargs: arguments of the callbacks, in the order of a callback's parameters.
    """
    plugins = context.invocation.plugin_manager
    # Fast path: a step has several hooks, and most agents define none.
    if callbacks is None and (plugins is None or not plugins.plugins):
        return None
    answer: T | None = None
    if plugins is not None:
        answer = await plugins.ask(f"{hook}_callback", **plugin_kwargs)
    if answer is None:
        answer = await first_answer(as_list(callbacks), **agent_kwargs)
    # A hook may have changed a list or dict of the state in place (contract S5).
    context.state.note_changes()
    return answer


def _check_answer(answer: T | None, expected: type[T], hook: str, agent: AgentProtocol) -> T | None:
    """Return the answer of a plugin or a callback if it has the expected type.

    Raises:
        ConfigurationError: the answer has another type; the message names the hook and the agent.
    """
    if answer is None or isinstance(answer, expected):
        return answer
    raise ConfigurationError(
        f"The {hook} for agent {agent.name!r} returned {with_article(type(answer).__name__)}. Return "
        f"{with_article(expected.__name__)}, or None to go on."
    )
