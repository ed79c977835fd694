"""CPU time to build and send a request with a long history. Baseline: google-genai's own conversion of contents."""

from __future__ import annotations

import time

from google.genai import Client

from runtime import types
from runtime.models import Gemini, LlmRequest
from tests.model_server import ModelServer, Turn

CONTENTS = 5_000


async def measure() -> list[str]:
    """Return one line with the CPU time of this process, which includes the local model server's share."""
    contents: list[types.Content] = [types.UserContent(f"Message {number}") for number in range(CONTENTS)]
    async with ModelServer() as server:
        server.play(*[Turn(text=["Yes."]) for _ in range(4)])
        gemini = Gemini(model="gemini-2.5-flash", api_key="bench", base_url=server.url)
        client = Client(api_key="bench", http_options=types.HttpOptions(base_url=server.url))
        own_cost = await _milliseconds(gemini, contents)
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents="warm up")
        started = time.process_time()
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents=[*contents])
        baseline = 1000 * (time.process_time() - started)
    return [
        f"a request of {CONTENTS} contents: {own_cost:.0f} ms of CPU, "
        f"{baseline:.0f} ms by google-genai's conversion"
    ]


async def _milliseconds(gemini: Gemini, contents: list[types.Content]) -> float:
    for history in (contents[:1], contents):  # the first request opens the connection
        started = time.process_time()
        async for _ in gemini.generate_content_async(LlmRequest(contents=list(history)), stream=False):
            pass
    return 1000 * (time.process_time() - started)
