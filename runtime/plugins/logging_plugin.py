"""What happens in an invocation, in readable log lines."""

from __future__ import annotations

import logging
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.context import Context, InvocationContext
from runtime.events.event import Event
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.plugins.base_plugin import BasePlugin
from runtime.plugins.readable import cut, readable, readable_content
from runtime.tools.base_tool import BaseTool

logger = logging.getLogger(__name__)


class LoggingPlugin(BasePlugin):
    """Writes one line for each hook, at INFO, failures at ERROR, to the logger `runtime.plugins.logging_plugin`.

    A line begins with the invocation's id. Values are cut, and those under names such as `password` or `api_key`
    masked; what people and models say is logged, up to 200 characters of it. Changes nothing.
    """

    def __init__(self, name: str = "logging_plugin") -> None:
        super().__init__(name)

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        """The message, the session, the user."""
        session = invocation_context.session
        _log(
            invocation_context.invocation_id,
            f"user {session.user_id} in session {session.id} of {session.app_name}: {readable_content(user_message)}",
        )

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """The agent that begins."""
        _log(invocation_context.invocation_id, f"run starts with agent {invocation_context.agent.name}")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Each event but partial ones: author, content, actions, error."""
        if event.partial:
            return
        actions = event.actions.model_dump(exclude_defaults=True, exclude_none=True)
        notes = [f"event by {event.author}", "final" if event.is_final_response() else "", f"id {event.id}"]
        line = f"{', '.join(note for note in notes if note)}: {readable_content(event.content)}"
        _log(event.invocation_id, f"{line}; actions {readable(actions)}" if actions else line)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """The end."""
        _log(invocation_context.invocation_id, "run ends")

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """The agent and its branch."""
        branch = f" on branch {callback_context.branch}" if callback_context.branch else ""
        _log(callback_context.invocation_id, f"agent {agent.name} starts{branch}")

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """The agent."""
        _log(callback_context.invocation_id, f"agent {agent.name} ends")

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        """What is asked: sizes, tools and the latest content."""
        contents = llm_request.contents
        latest = readable_content(contents[-1] if contents else None)
        _log(
            callback_context.invocation_id,
            f"agent {callback_context.agent_name} asks model {llm_request.model}: {len(contents)} contents, "
            f"tools {', '.join(llm_request.tools_dict) or 'none'}, latest: {latest}",
        )

    async def after_model_callback(self, *, callback_context: Context, llm_response: LlmResponse) -> None:
        """What came back, but for partial responses: content, usage, error."""
        if llm_response.partial:
            return
        invocation_id = callback_context.invocation_id
        if llm_response.error_code:
            error = f"{llm_response.error_code}: {cut(llm_response.error_message or '')}"
            _log(
                invocation_id,
                f"model answers agent {callback_context.agent_name} with {error}",
                logging.ERROR,
            )
            return
        usage = llm_response.usage_metadata
        spent = f" ({usage.prompt_token_count} + {usage.candidates_token_count} tokens)" if usage else ""
        said = readable_content(llm_response.content)
        _log(invocation_id, f"model answers agent {callback_context.agent_name}{spent}: {said}")

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Why the model could not be asked."""
        _log(
            callback_context.invocation_id,
            f"model {llm_request.model} fails for agent {callback_context.agent_name}: {_described(error)}",
            logging.ERROR,
        )

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> None:
        """The call and its arguments."""
        _log(
            tool_context.invocation_id,
            f"tool {tool.name} starts, call {tool_context.function_call_id}: {readable(tool_args)}",
        )

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
    ) -> None:
        """The result."""
        _log(
            tool_context.invocation_id,
            f"tool {tool.name} ends, call {tool_context.function_call_id}: {readable(result)}",
        )

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
    ) -> None:
        """The failure."""
        _log(
            tool_context.invocation_id,
            f"tool {tool.name} fails, call {tool_context.function_call_id}: {_described(error)}",
            logging.ERROR,
        )


def _log(invocation_id: str, line: str, level: int = logging.INFO) -> None:
    logger.log(level, "[%s] %s", invocation_id, line)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {cut(str(error))}"
