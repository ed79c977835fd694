"""CrewaiTool: a CrewAI tool as a tool of an agent."""

from typing import Any

from runtime.tools.foreign_tool import ForeignTool
from runtime.tools.tool_threads import run_in_tool_thread


class CrewaiTool(ForeignTool):
    """Wraps a tool of `crewai.tools` and runs it in a tool thread.

    Args:
        tool: the CrewAI tool.
        name: name for the model; empty: the tool's name, with underscores for spaces.
        description: description for the model; empty: the tool's description.
    """

    def __init__(self, tool: Any, *, name: str, description: str = "") -> None:
        self.tool = tool
        super().__init__(
            name=name or tool.name.replace(" ", "_").lower(),
            description=description or tool.description,
            args_schema=tool.args_schema,
        )

    async def call(self, args: dict[str, Any]) -> Any:
        return await run_in_tool_thread(self.tool.run, **args)
