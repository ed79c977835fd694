"""Agents that a test has the site serve instead of its own."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from runtime.agents import BaseAgent
from runtime.apps import App
from runtime.events.request_input import RequestInput
from runtime.workflow import Workflow
from tests.fakes import ScriptedModel


class Served(Protocol):
    """The fixture `served`: let the site serve these apps and no others; an agent becomes an app of its name."""

    def __call__(self, *served: App | BaseAgent) -> None: ...


def asking_workflow(name: str, response_schema: Any = int) -> Workflow:
    """Return a workflow that asks "How many?", and whose last output repeats the answer."""

    def ask() -> RequestInput:
        return RequestInput(message="How many?", response_schema=response_schema)

    def repeat(node_input: Any) -> str:
        return f"{node_input!r} it is"

    return Workflow(name=name, edges=[("START", ask, repeat)])


async def wait_for_requests(model: ScriptedModel, times: int) -> None:
    """Wait until the model was asked so many times."""
    while len(model.requests) < times:
        await asyncio.sleep(0.01)
