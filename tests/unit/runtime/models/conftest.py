"""A scripted model server, and a `Gemini` that calls it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime import types
from runtime.models import Gemini
from tests.model_server import ModelServer


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def gemini(server: ModelServer) -> Gemini:
    return Gemini(
        model="gemini-test",
        api_key="test-key",
        base_url=server.url,
        timeout=10,
        retry_options=types.HttpRetryOptions(attempts=3, initial_delay=0.001, jitter=0, max_delay=5),
    )
