"""Rounds that make vectors of texts, for tests of memory and of knowledge bases."""

import asyncio

from sessions_app.store import embedding
from tests.model_server import ModelServer


async def kill_a_round_in_its_second_batch(server: ModelServer) -> None:
    """Start a round, and end it while the server holds its answer to the second batch."""
    batches = len(server.embeddings.batches)

    def hold_the_next(texts: list[str]) -> None:
        server.embeddings.is_held = True

    server.embeddings.fails = hold_the_next
    killed = asyncio.create_task(embedding.embed_waiting())
    async with asyncio.timeout(60):
        while len(server.embeddings.batches) < batches + 2:
            await asyncio.sleep(0.01)
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    server.embeddings.fails = lambda texts: None
    server.embeddings.is_held = False
