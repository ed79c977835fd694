"""Tools that a person confirms: one with yes or no, the other also with a number."""

from typing import Any

from runtime.agents import Agent
from runtime.tools import FunctionTool, ToolContext

MODEL = "gemini-2.5-flash"


def needs_a_manager(amount: int) -> bool:
    """True if the amount needs a manager's confirmation."""
    return amount >= 1000


def reimburse(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pays an amount back.

    Args:
        amount: How much, in dollars.
    """
    tool_context.state["paid"] = tool_context.state.get("paid", 0) + amount
    return {"status": "ok", "paid": amount}


def request_time_off(days: int, tool_context: ToolContext) -> dict[str, Any]:
    """Asks for days off. The manager says how many are approved.

    Args:
        days: How many days.
    """
    if days <= 0:
        return {"status": "error", "error": "Ask for one day at least."}
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(
            hint="Approve of the days off, all or some.", payload={"approved_days": 0}
        )
        return {"status": "pending"}
    if not answer.confirmed:
        return {"status": "rejected", "approved_days": 0}
    approved = min((answer.payload or {}).get("approved_days", days), days)
    tool_context.state["days_off"] = approved
    return {"status": "ok", "approved_days": approved}


root_agent = Agent(
    name="time_off_agent",
    model=MODEL,
    instruction="Help employees with reimbursements and days off, with the tools.",
    tools=[FunctionTool(reimburse, require_confirmation=needs_a_manager), request_time_off],
)
