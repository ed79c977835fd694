"""The agent `flows`: one workflow waits for the test, and fails while it says so; another has 1,000 nodes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from django.conf import settings

from runtime.agents import LlmAgent
from runtime.workflow import JoinNode, Workflow, node
from tests.browser.flows import CLOSED, PACKED


def take_order(node_input: str) -> str:
    """Take the message, which names a folder of the test."""
    return node_input


async def pack(node_input: str) -> str:
    """Wait until the test has packed."""
    while not (Path(node_input) / PACKED).exists():
        await asyncio.sleep(0.02)
    return node_input


def deliver(node_input: str) -> str:
    """Fail while the test has closed the street."""
    if (Path(node_input) / CLOSED).exists():
        raise OSError("The street is closed.")
    return "Delivered."


def counters(name: str, count: int) -> list[Any]:
    async def count_one() -> None: ...

    return [node(count_one, name=f"{name}_{number}") for number in range(count)]


def finish() -> str:
    return "All are counted."


parcel = Workflow(name="parcel", edges=[("START", take_order, pack, deliver)])
thousand = Workflow(
    name="thousand",
    edges=[("START", *counters("chain", 500), tuple(counters("beside", 498)), JoinNode(name="join"), finish)],
)
root_agent = LlmAgent(name="flows", model=settings.ADK_MODEL, sub_agents=[parcel, thousand])
