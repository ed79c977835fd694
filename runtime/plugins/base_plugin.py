"""BasePlugin: hooks for every agent of an app (contract C4)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.context import Context, InvocationContext
from runtime.events.event import Event
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools.base_tool import BaseTool


class BasePlugin:
    """Base of plugins; override the hooks you need, sync or async (contract L11).

    Hooks are called in order of registration, before the agent's own callbacks. A result other than None replaces the
    default behaviour, and the hooks of later plugins and the agent's callbacks are skipped (contract Q6). An exception
    in a hook ends the invocation with a `PluginError`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def name(self) -> str:
        """The plugin's name; the name of its class if the plugin does not call `super().__init__` (contract Q6)."""
        return type(self).__name__

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Replace the person's message before it is stored."""

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Answer with this content instead of running the agent."""

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Return an event whose fields replace those of `event` before it is committed and yielded (contract Q6)."""

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Called when the invocation has ended without an exception."""

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: Context
    ) -> types.Content | None:
        """Reply with this content instead of running the agent."""

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: Context
    ) -> types.Content | None:
        """Add a response with this content after the agent's."""

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Answer instead of the model. `llm_request` may be changed in place: it belongs to this call only."""

    async def after_model_callback(
        self, *, callback_context: Context, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Replace the model's response; called for partial responses, too."""

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Answer in place of a model call that failed."""

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> dict[str, Any] | None:
        """Answer instead of the tool. `tool_args` may be changed in place."""

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Replace the tool's result."""

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
    ) -> dict[str, Any] | None:
        """Answer in place of a tool that raised."""

    async def on_agent_error_callback(
        self, *, agent: BaseAgent, callback_context: Context, error: Exception
    ) -> None:
        """Note an exception that ends an agent call; it is raised to the caller."""

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """Note an exception that ends the invocation; it is raised to the caller."""

    async def close(self) -> None:
        """Release resources; called when the Runner is closed."""
