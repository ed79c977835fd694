"""The workflow of some of the people. It has a node of each kind; the effects of the nodes outlive their processes.

begin -> (stock, fraud, obedient) -> checked -> ask -> decide -> pay -> due -> mail
                                                              -> leave
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

from django.conf import settings

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events import Event, RequestInput
from runtime.workflow import JoinNode, NodeContext, RetryConfig, WaitNode, Workflow, node
from sessions_app.jobs import job_tool
from tests.chaos.site.agents import ObedientModel
from tests.chaos.site.obedience import words_for
from tests.chaos.site.tools import note

PAUSE_SECONDS = 0.1
"""Time between the effect of a node and its end, for kills."""
EFFECTS = settings.DATA_DIR / "effects"


def effects() -> Counter[tuple[str, str]]:
    """Return how often each node has had its effect, by the order and the name of the node."""
    lines = EFFECTS.read_text().splitlines() if EFFECTS.exists() else []
    counts = Counter[tuple[str, str]]()
    for line in lines:
        order, name = line.split(" ")
        counts[order, name] += 1
    return counts


def is_wanted(order: str) -> bool:
    """Return the answer that the person gives to the question about the order."""
    return sum(order.encode()) % 3 > 0


def expected_outputs(order: str) -> dict[str, Any]:
    """Return the outputs of all nodes that end, by name."""
    response = types.FunctionResponse(name="note")
    answer = "".join(words_for(types.Part(function_response=response)))
    checks = {"stock": f"stock of {order}", "fraud": f"fraud of {order}", "obedient": answer}
    start = {"begin": f"note {order}", **checks, "checked": checks, "ask": is_wanted(order)}
    start["decide"] = {"order": order}
    if not is_wanted(order):
        return {**start, "leave": {"left": order}}
    paid = {"paid": order, "status": "succeeded"}
    return {**start, "pay": paid, "due": paid, "mail": {"mailed": order}}


def _effect(order: str, name: str) -> None:
    with EFFECTS.open("a") as file:
        file.write(f"{order} {name}\n")


def _order(ctx: NodeContext) -> str:
    """Return the order of this invocation; others of the session may be open, too."""
    order: str = ctx.state[f"order_{ctx.invocation_id}"]
    return order


def begin(node_input: str, ctx: NodeContext) -> str:
    order = node_input.split(" ")[-1]
    _effect(order, "begin")
    ctx.state[f"order_{ctx.invocation_id}"] = order
    return f"note {order}"


def stock(ctx: NodeContext) -> str:
    _effect(_order(ctx), "stock")
    time.sleep(PAUSE_SECONDS)
    return f"stock of {_order(ctx)}"


async def fraud(ctx: NodeContext) -> str:
    _effect(_order(ctx), "fraud")
    await asyncio.sleep(PAUSE_SECONDS)
    return f"fraud of {_order(ctx)}"


def ask(node_input: dict[str, Any], ctx: NodeContext) -> RequestInput:
    _effect(_order(ctx), "ask")
    return RequestInput(message=f"Pay {_order(ctx)}?", payload=node_input, response_schema=bool)


def decide(node_input: bool, ctx: NodeContext) -> Event:
    _effect(_order(ctx), "decide")
    return Event(output={"order": _order(ctx)}, route=node_input)


@job_tool
def pay(order: str) -> dict[str, str]:
    """Pay an order."""
    _effect(order, "pay")
    time.sleep(PAUSE_SECONDS)
    return {"paid": order}


@node(retry_config=RetryConfig(max_attempts=2, initial_delay=0.2, exceptions=[ConnectionError]))
async def mail(ctx: NodeContext) -> dict[str, str]:
    _effect(_order(ctx), "mail")
    await asyncio.sleep(PAUSE_SECONDS)
    if ctx.attempt_count == 1:
        raise ConnectionError("The mail server is away.")
    return {"mailed": _order(ctx)}


def leave(ctx: NodeContext) -> dict[str, str]:
    _effect(_order(ctx), "leave")
    return {"left": _order(ctx)}


obedient = LlmAgent(name="obedient", model=ObedientModel(), tools=[note])
checked = JoinNode(name="checked")
due = WaitNode(name="due", seconds=1.0)
app = App(
    name="chaos_flow",
    root_agent=Workflow(
        name="flow",
        edges=[
            ("START", begin, (stock, fraud, obedient), checked, ask, decide),
            (decide, {True: pay, False: leave}),
            (pay, due, mail),
        ],
    ),
)
