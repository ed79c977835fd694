"""Customer service with a profile, a limit of calls in a turn, and discounts that a callback caps."""

from typing import Any

from runtime.agents import Agent
from runtime.agents.callback_context import CallbackContext
from runtime.tools import BaseTool, ToolContext

MODEL = "gemini-2.5-flash"
LIMIT = 3
MAX_DISCOUNT = 10


def load_profile(callback_context: CallbackContext) -> None:
    """Load the customer's profile at the first message."""
    if "profile" not in callback_context.state:
        callback_context.state["profile"] = {"name": "Ada", "since": 2019}
    callback_context.state["temp:calls"] = 0


def limit_calls(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> dict[str, str] | None:
    """Refuse calls above the limit, and cap discounts."""
    calls = tool_context.state["temp:calls"] = tool_context.state["temp:calls"] + 1
    if calls > LIMIT:
        return {"error": "Too many calls in one turn: answer now."}
    if tool.name == "give_discount":
        args["percent"] = min(args["percent"], MAX_DISCOUNT)
    return None


def find_order(order_id: str) -> dict[str, str]:
    """Finds an order.

    Args:
        order_id: The number of the order.
    """
    return {"order_id": order_id, "status": "shipped"}


def give_discount(percent: int, tool_context: ToolContext) -> dict[str, int]:
    """Gives a discount on the next order.

    Args:
        percent: How much.
    """
    tool_context.state["discount"] = percent
    return {"discount": percent}


root_agent = Agent(
    name="service",
    model=MODEL,
    global_instruction="The customer: {profile}",
    instruction="Help with orders. Discount so far: {discount?}",
    tools=[find_order, give_discount],
    before_agent_callback=load_profile,
    before_tool_callback=limit_calls,
)
