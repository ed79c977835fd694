"""Workflow of the demo: an order comes back, and its price is refunded.

    look_up -> check_stock, check_fraud (at once) -> checks -> ask (a person decides) -> decide
    decide  -> yes: pay_back (a job) -> mail_customer
            -> no:  keep_payment

No model chooses the next step. The nodes share the number of the order in the state of the session.
"""

import random
import re
import time
from typing import Any

from adk_site.demo.orders import SEED, Order, as_part, euros, find_order, invoice_csv, refund_letter
from runtime.events import Event, RequestInput
from runtime.workflow import DEFAULT_ROUTE, JoinNode, NodeContext, Workflow
from sessions_app.jobs import job_tool, progress, save_artifact

MAX_STOCK = 9
UNUSUAL_TOTAL = 500_00
"""Total in cents from which a payment is unusual."""
BANK_STEPS = ("Checking the account", "Booking the payment", "Writing the credit note")
bank_seconds = 1.5
"""Seconds for each step of a payment."""


def look_up(node_input: str, ctx: NodeContext) -> Event:
    """Look up the order that the message names."""
    found = re.search(r"\d{1,9}", node_input)
    order = find_order(int(found[0])) if found else None
    if order is None:
        return Event(output="There is no such order.", route="unknown")
    if str(order.number) in ctx.state.get("user:refunds", {}):
        return Event(output=f"Order {order.number} is refunded already.", route="unknown")
    ctx.state["order"] = order.number
    return Event(
        output=f"{order.quantity} x {order.product}, {euros(order.total)}, {order.status}", route="found"
    )


def refuse(node_input: str) -> str:
    """Say why nothing can come back."""
    return node_input


def check_stock(order: int) -> str:
    """Count the items in stock: an order can be replaced, too."""
    found = _order(order)
    stock = random.Random(f"{SEED} {found.product}").randint(0, MAX_STOCK)  # noqa: S311 - no secret
    return f"{stock} x {found.product} in stock"


def check_fraud(order: int) -> str:
    """Look at the payment."""
    total = _order(order).total
    finding = "unusually large" if total >= UNUSUAL_TOTAL else "nothing unusual"
    return f"Payment of {euros(total)}: {finding}"


def ask(node_input: dict[str, Any], order: int) -> RequestInput:
    """Ask the person to decide."""
    amount = euros(_order(order).total)
    return RequestInput(
        message=f"Refund {amount} for order {order}?", payload=node_input, response_schema=bool
    )


def decide(node_input: bool | None, order: int) -> Event:
    """Choose the way by the answer; without one, as staff have skipped the question, nothing is paid."""
    return Event(output={"order": order}, route=bool(node_input))


@job_tool
def pay_back(order: int) -> dict[str, str]:
    """Pay the price of an order back to its buyer.

    Args:
        order: The number of the order.
    """
    for number, step in enumerate(BANK_STEPS):
        progress(number, len(BANK_STEPS), step)
        time.sleep(bank_seconds)
    found = _order(order)
    save_artifact(f"credit-note-{order}.csv", as_part(invoice_csv(found), "text/csv"))
    return {"paid": euros(found.total)}


async def mail_customer(order: int, ctx: NodeContext) -> str:
    """Write to the buyer. The demo sends no mail: it keeps the letter as a file of the chat."""
    amount = euros(_order(order).total)
    letter = refund_letter(order, amount, ctx.state.get("user:name"))
    await ctx.save_artifact(f"mail-{order}.txt", as_part(letter, "text/plain"))
    ctx.state["user:refunds"] = {**ctx.state.get("user:refunds", {}), str(order): _order(order).total}
    return f"**Order {order} is refunded.** You get {amount} back, and a mail says so."


def keep_payment(order: int) -> str:
    """Say that nothing is paid back."""
    return f"Order {order} is not refunded."


def _order(number: int) -> Order:
    order = find_order(number)
    if order is None:
        raise LookupError(f"There is no order {number}.")
    return order


returns = Workflow(
    name="returns",
    description="Takes an order back and refunds it: checks it, asks a person, pays and writes a mail.",
    edges=[
        ("START", look_up, {"found": (check_stock, check_fraud), DEFAULT_ROUTE: refuse}),
        ((check_stock, check_fraud), JoinNode(name="checks"), ask, decide),
        (decide, {True: pay_back, False: keep_payment}),
        (pay_back, mail_customer),
    ],
)
