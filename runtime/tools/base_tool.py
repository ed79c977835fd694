"""The contract of a tool: what the model is told about it, and what happens when it is called."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.context import Context
from runtime.models.llm_request import LlmRequest


class BaseTool:
    """Something that a model can call, or that changes what a model is asked.

    Attributes:
        name: what the model calls it; unique among the tools of an agent.
        description: what the model reads to decide whether to call it.
        is_long_running: whether the answer to a call may come later, from outside (spec T5).
        custom_metadata: data of the tool's author; the runtime does not look at it.
    """

    def __init__(
        self,
        *,
        name: str,
        description: str,
        is_long_running: bool = False,
        custom_metadata: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.is_long_running = is_long_running
        self.custom_metadata = custom_metadata

    def _get_declaration(self) -> types.FunctionDeclaration | None:
        """How the tool is declared to the model; None when the model makes no function calls to it."""
        return None

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        """Whether a person has to confirm this call before it runs (spec T7)."""
        return False

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Do what the model asked for. The result goes to the model by `tool_result.as_response`.

        Raises:
            NotImplementedError: the tool is not one that is called.
        """
        raise NotImplementedError(
            f"Tool {self.name!r} does not implement `run_async`, so it cannot be called."
        )

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Change the request before each model call; by default, declare the tool in it (spec Q13)."""
        if self._get_declaration() is not None:
            llm_request.append_tools([self])
