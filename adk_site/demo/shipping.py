"""Workflow of the demo: before an order ships, it is looked up, then checked for stock and fraud at once, then decided.

The agents of a workflow run in a fixed order; no model chooses the next one. They share what they find in the state of
the session. `ParallelAgent` hides the events of its agents from each other, not from the agents after it.
"""

from __future__ import annotations

import random

from adk_site.demo.orders import SEED, Order, euros, find_order
from runtime.agents import LlmAgent, ParallelAgent, SequentialAgent
from runtime.tools import FunctionTool, ToolContext

MAX_STOCK = 9
UNUSUAL_TOTAL = 500_00
"""Total in cents from which a person looks at an order before it ships."""


def read_order(order_number: int, tool_context: ToolContext) -> dict[str, str]:
    """Look up an order that is to be shipped.

    Args:
        order_number: The number of the order.
    """
    order = find_order(order_number)
    if order is None:
        tool_context.state["order"] = None  # the other agents must not check an earlier order
        return {"error": f"There is no order {order_number}."}
    tool_context.state["order"] = order.number
    content = f"{order.quantity} x {order.product}, {euros(order.total)}"
    return {"message": f"Order {order.number} is {order.status}: {content}."}


def check_stock(tool_context: ToolContext) -> dict[str, str]:
    """Check that the items of the order are in stock."""
    order = _order_of(tool_context)
    if order is None:
        return {"error": "There is no order to check."}
    stock = random.Random(f"{SEED} {order.product}").randint(0, MAX_STOCK)  # noqa: S311 - no secret
    tool_context.state["is_in_stock"] = stock >= order.quantity
    return {"message": f"{order.product}: {stock} in stock, {order.quantity} ordered."}


def check_fraud(tool_context: ToolContext) -> dict[str, str]:
    """Check the payment of the order for signs of fraud."""
    order = _order_of(tool_context)
    if order is None:
        return {"error": "There is no order to check."}
    is_usual = order.total < UNUSUAL_TOTAL
    tool_context.state["is_usual"] = is_usual
    finding = "nothing unusual" if is_usual else "unusually large"
    return {"message": f"Payment of {euros(order.total)}: {finding}."}


def decide_shipping(tool_context: ToolContext) -> dict[str, str]:
    """Decide by the checks whether the order can ship."""
    order = _order_of(tool_context)
    if order is None:
        return {"error": "There is no order to decide on."}
    if not tool_context.state.get("is_in_stock"):
        return {"message": f"**Order {order.number} waits** until there is enough in stock."}
    if not tool_context.state.get("is_usual"):
        return {"message": f"**Order {order.number} waits** until a person has looked at its payment."}
    return {"message": f"**Order {order.number} can ship.** It is in stock, and its payment is usual."}


def _order_of(tool_context: ToolContext) -> Order | None:
    number = tool_context.state.get("order")
    return find_order(number) if number else None


lookup = LlmAgent(
    name="lookup",
    instruction="Look up the order that the person names, and say in one sentence what it is.",
    tools=[FunctionTool(read_order, title="Look up order {order_number}")],
)
stock = LlmAgent(
    name="stock",
    instruction="Check the stock for the order, and say in one sentence what you found.",
    tools=[FunctionTool(check_stock, title="Check the stock")],
)
fraud = LlmAgent(
    name="fraud",
    instruction="Check the payment of the order for fraud, and say in one sentence what you found.",
    tools=[FunctionTool(check_fraud, title="Check the payment")],
)
decision = LlmAgent(
    name="decision",
    instruction="Decide whether the order can ship, and say it with the reason in one sentence.",
    tools=[FunctionTool(decide_shipping, title="Decide on the order")],
)
shipping = SequentialAgent(
    name="shipping",
    description="Checks an order before it ships: stock and fraud.",
    sub_agents=[lookup, ParallelAgent(name="checks", sub_agents=[stock, fraud]), decision],
)
