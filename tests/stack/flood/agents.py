"""The agent of the slow reader tests: it answers with a megabyte of text, in numbered pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from runtime.agents import LlmAgent
from runtime.apps import App
from tests.fakes import StreamingModel

PIECES = [f"{number} " + "x" * 10_000 + "\n" for number in range(100)]


class FloodModel(StreamingModel):
    """Model that streams a piece every 20 ms, which leaves the site time to send the previous piece."""

    model: str = "flood"

    async def words(self) -> AsyncGenerator[str, None]:
        for piece in PIECES:
            await asyncio.sleep(0.02)
            yield piece


app = App(name="flood", root_agent=LlmAgent(name="flood", model=FloodModel()))
