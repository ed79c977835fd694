"""A kitchen helper whose shopping list lives in the state of the session, and whose diet in that of the user."""

from runtime.agents import LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.tools import ToolContext

MODEL = "gemini-2.5-flash"


def add_to_list(items: list[str], tool_context: ToolContext) -> list[str]:
    """Adds to the shopping list what is not on it yet.

    Args:
        items: What to buy.
    """
    shopping = tool_context.state.setdefault("shopping", [])
    shopping += [item for item in items if item not in shopping]
    return list(shopping)


def set_diet(diet: str, tool_context: ToolContext) -> str:
    """Remembers a diet for all conversations with the person.

    Args:
        diet: For example "vegan".
    """
    tool_context.state["user:diet"] = diet
    return f"Only {diet} recipes from now on."


def count_visits(callback_context: CallbackContext) -> None:
    """Count the messages of the person, in all sessions."""
    callback_context.state["user:visits"] = callback_context.state.get("user:visits", 0) + 1


root_agent = LlmAgent(
    name="cook",
    model=MODEL,
    instruction="Suggest {user:diet?} recipes. On the shopping list: {shopping?}",
    tools=[add_to_list, set_diet],
    before_agent_callback=count_visits,
)
