"""What a request with a long history costs to build and send, beside google-genai's own conversion of the contents."""

from __future__ import annotations

import time

from google.genai import Client

from runtime import types
from runtime.models import Gemini, LlmRequest
from tests.model_server import ModelServer, Turn

CONTENTS = 5_000


async def measure() -> list[str]:
    """One line: CPU of this process, the local model server's share included."""
    contents = [types.UserContent(f"Message {number}") for number in range(CONTENTS)]
    async with ModelServer() as server:
        server.play(*[Turn(text=["Yes."]) for _ in range(4)])
        gemini = Gemini(model="gemini-2.5-flash", api_key="bench", base_url=server.url)
        client = Client(api_key="bench", http_options=types.HttpOptions(base_url=server.url))
        ours = await _milliseconds(gemini, contents)
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents="warm up")
        started = time.process_time()
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents=list(contents))
        theirs = 1000 * (time.process_time() - started)
    return [
        f"a request of {CONTENTS} contents: {ours:.0f} ms of CPU, {theirs:.0f} ms by google-genai's conversion"
    ]


async def _milliseconds(gemini: Gemini, contents: list[types.Content]) -> float:
    for asked in (contents[:1], contents):
        started = time.process_time()
        async for _ in gemini.generate_content_async(LlmRequest(contents=list(asked)), stream=False):
            pass
    return 1000 * (time.process_time() - started)
