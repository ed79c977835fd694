"""The whole site on a real HTTP server, and A2A's reference client with a key of the person."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from adk_site.asgi import application
from runtime.agents import LlmAgent
from runtime.apps import App
from tests.a2a_server import free_socket, listening_app
from tests.fakes import ScriptedModel
from tests.integration.api.conftest import make_key
from tests.served_agents import Served

APP = "desk"


@pytest.fixture
async def site(
    loop_end: None,
    configure: Callable[..., None],
    served: Served,
    model: ScriptedModel,
    tools: list[Any],
) -> AsyncGenerator[str, None]:
    """The URL of the site, which serves the app `desk` by A2A, and `private` not."""
    root = LlmAgent(name=APP, description="Helps people.", model=model, tools=tools)
    other = LlmAgent(name="private", model=ScriptedModel())
    apps = {APP: App(name=APP, root_agent=root), "private": App(name="private", root_agent=other)}
    served(*apps.values())
    configure(a2a_apps=[APP])
    listening, url = free_socket()
    async with listening_app(application, listening):
        yield url


@asynccontextmanager
async def http_client(key: str = "") -> AsyncGenerator[httpx.AsyncClient, None]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(headers=headers, timeout=30) as client:
        yield client


@asynccontextmanager
async def program_of(
    user: User, site: str, *scopes: str, streaming: bool = True
) -> AsyncGenerator[Client, None]:
    """A2A's reference client, with a key of the user."""
    key = await sync_to_async(make_key)(user, *scopes)
    async with http_client(key) as http:
        config = ClientConfig(httpx_client=http, streaming=streaming)
        yield await create_client(f"{site}/a2a/{APP}", config)


@pytest.fixture
async def program(person: User, site: str) -> AsyncGenerator[Client, None]:
    async with program_of(person, site) as client:
        yield client


def turns(model: ScriptedModel, *added: Any) -> None:
    """Let the model say these turns next."""
    model.turns.extend(added)


Turns = Sequence[Any]
