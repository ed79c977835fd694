"""Fixtures of the tests of ADK's addresses: an app, and a client of it with a key."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime.agents import LlmAgent
from runtime.apps import App
from tests.fakes import ScriptedModel
from tests.integration.access import APP
from tests.served_agents import Served

SESSIONS = f"/adk/apps/{APP}/users/ada/sessions"


@pytest.fixture(autouse=True)
def app(served: Served) -> App:
    """An app, the only one of the site."""
    app = App(name=APP, root_agent=LlmAgent(name=APP, description="Repeats", model=ScriptedModel()))
    served(app)
    return app


Send = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
def send(program: AsyncClient, person: User, loop_end: None) -> Send:
    """Function that sends a request with the key of ada; returns the status and the JSON."""

    async def send_one(method: str, address: str, body: Any = None, client: AsyncClient = program) -> Any:
        data = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        response = await client.generic(method, address, data, content_type="application/json")
        content = await _joined(response) if response.streaming else response.content
        return response.status_code, json.loads(content)

    return send_one


async def _joined(response: Any) -> bytes:
    return b"".join([piece async for piece in response.streaming_content])
