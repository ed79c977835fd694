"""The agent of the A2A tests: it counts, for longer than any test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from runtime.agents import LlmAgent
from runtime.apps import App
from tests.fakes import StreamingModel


class CountingModel(StreamingModel):
    """Model that streams a number every 20 ms."""

    model: str = "counting"

    async def words(self) -> AsyncGenerator[str, None]:
        for number in range(100_000):
            await asyncio.sleep(0.02)
            yield f"{number} "


app = App(name="counter", root_agent=LlmAgent(name="counter", model=CountingModel()))
