"""The paced agent: each word is the time at which the model yielded it, so that a reader can compute its age."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

from runtime.agents import LlmAgent
from runtime.apps import App
from tests.fakes import StreamingModel

CHUNKS = 50
SECONDS_BETWEEN = 0.02


class PacedModel(StreamingModel):
    """Model that streams `CHUNKS` words at a fixed rate."""

    model: str = "paced"

    async def words(self) -> AsyncGenerator[str, None]:
        due = time.perf_counter()
        for _ in range(CHUNKS):
            due += SECONDS_BETWEEN
            await asyncio.sleep(due - time.perf_counter())
            yield f"{time.time():.6f} "


app = App(name="paced", root_agent=LlmAgent(name="paced", model=PacedModel()))
