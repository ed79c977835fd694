"""BasePlugin: hooks for every agent of an app (contract C4)."""

from functools import cached_property
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.context import Context, InvocationContext
from runtime.events.event import Event
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools.base_tool import BaseTool

CallbackContext = Context


class BasePlugin:
    """Base of plugins. Override the hooks you need, sync or async (contract L11).

    Hooks are called in order of registration, before the agent's own callbacks. A result other than None replaces the
    default behaviour; hooks of later plugins and the agent's callbacks are then not called (contract Q6). An exception
    in a hook ends the invocation with a `PluginError`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    # A cached property is a non-data descriptor: assigning `self.name` replaces it.
    @cached_property
    def name(self) -> str:
        """The plugin's name; the name of its class if the plugin does not call `super().__init__` (contract Q6)."""
        return type(self).__name__

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Return a content to store in place of the person's message."""

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Return a content as the answer instead of running an agent."""

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Return an event whose fields replace the fields of `event` before the commit (contract Q6)."""

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Handle the end of an invocation without an exception."""

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: Context
    ) -> types.Content | None:
        """Return a content to reply with instead of running the agent."""

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: Context
    ) -> types.Content | None:
        """Return a content to add after the agent's events."""

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Return a response instead of calling the model. May change `llm_request`, which belongs to this call only."""

    async def after_model_callback(
        self, *, callback_context: Context, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Return a response in place of the model's. Called for partial responses, too."""

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Return a response in place of a failed model call."""

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> dict[str, Any] | None:
        """Return a result instead of calling the tool. May change `tool_args` in place."""

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return a result in place of the tool's."""

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
    ) -> dict[str, Any] | None:
        """Return a result in place of a tool's exception."""

    async def on_agent_error_callback(
        self, *, agent: BaseAgent, callback_context: Context, error: Exception
    ) -> None:
        """Handle the exception of an agent call, which is re-raised afterwards."""

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """Handle the exception of an invocation, which is re-raised afterwards."""

    async def close(self) -> None:
        """Release resources. Called by `Runner.close`."""
