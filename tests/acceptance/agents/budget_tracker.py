"""A household budget: limits of the user, expenses of the session, a warning that lives for one turn."""

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.models import LlmRequest
from runtime.tools import ToolContext

MODEL = "gemini-2.5-flash"


def spend(amount: float, purpose: str, tool_context: ToolContext) -> dict[str, Any]:
    """Records an expense.

    Args:
        amount: How much.
        purpose: What for.
    """
    expenses = [*tool_context.state.get("expenses", []), {"amount": amount, "purpose": purpose}]
    tool_context.state["expenses"] = expenses
    left = tool_context.state.get("user:limit", 100) - sum(expense["amount"] for expense in expenses)
    if left < 0:
        tool_context.state["temp:warning"] = f"The budget is exceeded by {-left:.2f}."
    return {"left": left}


def set_limit(amount: float, tool_context: ToolContext) -> str:
    """Sets the limit of all budgets of the person.

    Args:
        amount: How much.
    """
    tool_context.state["user:limit"] = amount
    return "set"


def add_warning(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """Show the model a warning of this turn."""
    if warning := callback_context.state.get("temp:warning"):
        llm_request.contents.append(types.Content(role="user", parts=[types.Part(text=warning)]))


root_agent = LlmAgent(
    name="budget",
    model=MODEL,
    instruction="Keep the books.",
    tools=[spend, set_limit],
    before_model_callback=add_warning,
)
