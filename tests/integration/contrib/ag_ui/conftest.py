"""The whole site on a real HTTP server, and AG-UI's reference client in Node with a key of the person."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from adk_site.asgi import application
from runtime.agents import LlmAgent
from tests.a2a_server import free_socket, listening_app
from tests.ag_ui_page import Page, page_of, write_durable
from tests.fakes import ScriptedModel
from tests.integration.api.conftest import make_key
from tests.served_agents import Served

APP = "desk"


@pytest.fixture
async def site(
    loop_end: None, configure: Callable[..., None], served: Served, model: ScriptedModel, tools: list[Any]
) -> AsyncGenerator[str, None]:
    """The URL of the site, which serves the apps `desk` and `other`."""
    served(
        LlmAgent(name=APP, model=model, tools=tools),
        LlmAgent(name="other", model=ScriptedModel()),
    )
    configure()
    listening, url = free_socket()
    async with listening_app(application, listening):
        yield url


@pytest.fixture
async def key(person: User) -> str:
    return await sync_to_async(make_key)(person)


@pytest.fixture(scope="session")
def durable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_durable(tmp_path_factory.mktemp("ag_ui"))


@pytest.fixture
async def page(durable: Path, site: str, key: str) -> AsyncGenerator[Page, None]:
    async with page_of(durable, f"{site}/ag-ui/{APP}", key) as found:
        yield found


@asynccontextmanager
async def http_client(site: str, key: str = "") -> AsyncGenerator[httpx.AsyncClient, None]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(base_url=site, headers=headers, timeout=60) as client:
        yield client


def run_input(*messages: dict[str, Any] | str, **fields: Any) -> dict[str, Any]:
    """Return the input of a run; a text is a message of the person."""
    said = [
        {"id": str(uuid4()), "role": "user", "content": message} if isinstance(message, str) else message
        for message in messages
    ]
    return {"threadId": str(uuid4()), "runId": str(uuid4()), "messages": said, **fields}


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the ids and events of a stream."""
    found = []
    for frame in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line and line[0] != ":")
        if lines:
            found.append((lines.get("id", ""), json.loads(lines["data"])))
    return found
