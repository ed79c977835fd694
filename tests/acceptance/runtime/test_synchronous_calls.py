"""Contract T2: synchronous tools of a step run one after another, each in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from runtime.tools import FunctionTool, ToolContext
from tests.acceptance.runtime.clerk import add, answers, clerk
from tests.fakes import call
from tests.unit.runtime.conversation import Conversation


def add_to_cart(item: str, tool_context: ToolContext) -> str:
    """Read the cart, wait, and write the cart."""
    cart = list(tool_context.state.get("cart", []))
    time.sleep(0.01)
    tool_context.state["cart"] = [*cart, item]
    return item


def put_into_cart(item: str, tool_context: ToolContext) -> str:
    """Read the cart, wait, and change the cart in place."""
    cart = tool_context.state.setdefault("cart", [])
    time.sleep(0.01)
    cart.append(item)
    return item


@pytest.mark.parametrize("tool", [add_to_cart, put_into_cart])
async def test_synchronous_tools_of_a_step_run_one_after_another(tool: Callable[..., str]) -> None:
    """Contract T2."""
    items = ["a lamp", "a bulb", "a cable"]
    calls = [call(tool.__name__, item=item) for item in items]
    conversation = Conversation(clerk(calls, "bought", tools=[tool]))
    await conversation.say("all three")
    assert (await conversation.session()).state["cart"] == items


async def test_a_synchronous_tool_may_run_another_one() -> None:
    """Contract T2."""

    def outer(tool_context: ToolContext) -> Any:
        return asyncio.run(FunctionTool(add).run_async(args={"a": 2}, tool_context=tool_context))

    conversation = Conversation(clerk(call("outer"), "three", tools=[outer]))
    async with asyncio.timeout(10):
        _, answered, _ = await conversation.say("2 + 1?")
    assert answers(answered) == {"outer": {"result": 3}}
