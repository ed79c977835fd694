"""A smart home: a toolset offers the devices of the person's role, and commands run at once."""

from typing import Any

from runtime.agents import LlmAgent
from runtime.agents.readonly_context import ReadonlyContext
from runtime.tools import BaseTool, FunctionTool, ToolContext
from runtime.tools.base_toolset import BaseToolset

MODEL = "gemini-2.5-flash"


async def switch_light(room: str, on: bool, tool_context: ToolContext) -> dict[str, Any]:
    """Switches a light.

    Args:
        room: The room.
        on: Whether it shines.
    """
    tool_context.state[f"light_{room}"] = on
    return {"room": room, "on": on}


def set_heating(celsius: float, tool_context: ToolContext) -> dict[str, float]:
    """Sets the heating.

    Args:
        celsius: The temperature.
    """
    tool_context.state["heating"] = celsius
    return {"celsius": celsius}


def unlock_door() -> str:
    """Unlocks the front door."""
    return "unlocked"


class Devices(BaseToolset):
    """Tools for the devices; children get no key to the door."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        tools: list[BaseTool] = [FunctionTool(switch_light), FunctionTool(set_heating)]
        role = readonly_context.state.get("user:role") if readonly_context else None
        return tools if role == "child" else [*tools, FunctionTool(unlock_door)]


root_agent = LlmAgent(
    name="butler",
    model=MODEL,
    instruction="Run the house.",
    tools=[Devices(tool_name_prefix="home")],
)
