"""Agents that a test has the site serve instead of its own."""

from __future__ import annotations

import asyncio
from typing import Protocol

from runtime.agents import BaseAgent
from runtime.apps import App
from tests.fakes import ScriptedModel


class Served(Protocol):
    """The fixture `served`: let the site serve these apps and no others; an agent becomes an app of its name."""

    def __call__(self, *served: App | BaseAgent) -> None: ...


async def wait_for_requests(model: ScriptedModel, times: int) -> None:
    """Wait until the model was asked so many times."""
    while len(model.requests) < times:
        await asyncio.sleep(0.01)
