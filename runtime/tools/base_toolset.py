"""The contract of a toolset: a source of tools with a filter and a prefix (contract T9, Q14)."""

import abc
import copy
from typing import Protocol

from runtime import types
from runtime.context import Context, ReadonlyContext
from runtime.models.base_llm import SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_configs import ToolArgsConfig


class ToolPredicate(Protocol):
    """Filter that decides which tools to offer."""

    def __call__(self, tool: BaseTool, readonly_context: ReadonlyContext | None = None) -> bool:
        """Return True to offer the tool in this invocation."""


class BaseToolset(abc.ABC):
    """A source of tools, such as an external server.

    Args:
        tool_filter: the names of the offered tools, without prefix, or a predicate; None offers all.
        tool_name_prefix: a prefix for all names, joined with an underscore; None and `''` mean no prefix.
    """

    def __init__(
        self,
        *,
        tool_filter: list[str] | ToolPredicate | None = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        self.tool_filter = tool_filter
        self.tool_name_prefix = tool_name_prefix

    @classmethod
    def from_config(cls, config: ToolArgsConfig, config_abs_path: str) -> "BaseToolset":
        """Return the toolset described in an agent's YAML file, as `BaseTool.from_config` does."""
        return cls(**dict(config))

    @abc.abstractmethod
    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools available in this invocation. Called once in an invocation."""

    async def get_tools_with_prefix(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools that pass the filter, under their prefixed names. Agents call this method at each step.

        A predicate is evaluated at each step, so it may follow the state. Prefixed tools are copies (contract Q14).
        """
        tools = await self._tools_of_invocation(readonly_context)
        offered = [tool for tool in tools if self._is_tool_selected(tool, readonly_context)]
        return self._with_prefix(offered)

    @property
    def known_tools(self) -> list[BaseTool]:
        """Tools that the toolset knows without asking a server, unprefixed. A page shows their titles for calls."""
        return []

    def find_known_tool(self, name: str) -> BaseTool | None:
        """Return the known tool with this prefixed name."""
        return next((tool for tool in self._with_prefix(self.known_tools) if tool.name == name), None)

    def _with_prefix(self, tools: list[BaseTool]) -> list[BaseTool]:
        if not self.tool_name_prefix:
            return tools
        return [_rename_tool(tool, f"{self.tool_name_prefix}_{tool.name}") for tool in tools]

    async def process_llm_request(  # noqa: B027  # most toolsets leave the request to their tools
        self, *, tool_context: Context, llm_request: LlmRequest
    ) -> None:
        """Change the request before each model call, before the toolset's tools change it; by default, do nothing."""

    def setup_problems(self) -> list[SetupProblem]:
        """Return the reasons why the tools cannot be used, such as a forbidden server."""
        return []

    async def close(self) -> None:  # noqa: B027  # most toolsets hold nothing open
        """Release connections and processes. Called once, by `Runner.close`."""

    async def _tools_of_invocation(self, readonly_context: ReadonlyContext | None) -> list[BaseTool]:
        if readonly_context is None:
            return await self.get_tools()
        known = readonly_context.invocation.scope.toolset_tools
        if id(self) not in known:
            # Hold a reference to the toolset: `id()` is reused once an object is freed.
            known[id(self)] = (self, await self.get_tools(readonly_context))
        return known[id(self)][1]

    def _is_tool_selected(self, tool: BaseTool, readonly_context: ReadonlyContext | None) -> bool:
        if self.tool_filter is None or tool.stands_for_others:
            return True
        if isinstance(self.tool_filter, list):
            return tool.name in self.tool_filter
        return self.tool_filter(tool, readonly_context)


def _rename_tool(tool: BaseTool, name: str) -> BaseTool:
    """Return a copy of the tool with another name, also in its declaration."""

    # Made from the original at each call, because a tool may build its declaration lazily.
    def declaration() -> types.FunctionDeclaration | None:
        declared = tool._get_declaration()
        return declared and declared.model_copy(update={"name": name})

    renamed = copy.copy(tool)
    renamed.name = name
    vars(renamed)["_get_declaration"] = declaration
    return renamed
