"""The quick agent: it streams twenty words without a pause."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from runtime.agents import LlmAgent
from runtime.apps import App
from tests.fakes import StreamingModel

WORDS = [f"word{number} " for number in range(20)]


class QuickModel(StreamingModel):
    """Model that streams words as fast as the consumer reads them."""

    model: str = "quick"

    async def words(self) -> AsyncGenerator[str, None]:
        for word in WORDS:
            await asyncio.sleep(0)
            yield word


app = App(name="quick", root_agent=LlmAgent(name="quick", model=QuickModel()))
