"""LangchainTool: a LangChain tool as a tool of an agent."""

from typing import Any

from runtime import types
from runtime.context import Context
from runtime.errors import ConfigurationError
from runtime.tools.foreign_tool import ForeignTool
from runtime.tools.function_tool import FunctionTool
from runtime.tools.tool_threads import run_in_tool_thread


class LangchainTool(ForeignTool):
    """Wraps a tool of `langchain_core.tools`, or an object with a `run` method.

    A tool with a coroutine is awaited; other tools run in a tool thread. With `return_direct` the result ends the turn.

    Args:
        tool: the LangChain tool.
        name: name for the model; by default the tool's name.
        description: description for the model; by default the tool's description.

    Raises:
        ConfigurationError: the object cannot be run.
    """

    def __init__(self, tool: Any, name: str | None = None, description: str | None = None) -> None:
        run = getattr(tool, "run", None) or getattr(tool, "_run", None)
        if run is None:
            raise ConfigurationError(f"{tool!r} is not a LangChain tool: it has no method `run`.")
        self.tool = tool
        self._function = None if hasattr(tool, "invoke") else FunctionTool(run)
        name = name or getattr(tool, "name", "")
        description = description or getattr(tool, "description", "")
        if self._function is not None:
            name = name or self._function.name
            description = description or self._function.description
        super().__init__(
            name=name or type(tool).__name__,
            description=description or "",
            # `tool_call_schema` leaves out arguments that LangChain itself fills in.
            args_schema=getattr(tool, "tool_call_schema", None) or getattr(tool, "args_schema", None),
        )

    def _get_declaration(self) -> types.FunctionDeclaration:
        if self._function is None:
            return super()._get_declaration()
        described = {"name": self.name, "description": self.description}
        return self._function._get_declaration().model_copy(update=described)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Run the tool. With `return_direct`, a successful result is the final response."""
        if self._function is not None:
            return await self._function.run_async(args=args, tool_context=tool_context)
        result = await super().run_async(args=args, tool_context=tool_context)
        has_failed = isinstance(result, dict) and bool(result.get("error"))
        if getattr(self.tool, "return_direct", False) and not has_failed:
            tool_context.actions.skip_summarization = True
        return result

    async def call(self, args: dict[str, Any]) -> Any:
        if getattr(self.tool, "coroutine", None) is not None:
            return await self.tool.ainvoke(args)
        return await run_in_tool_thread(self.tool.invoke, input=args)
