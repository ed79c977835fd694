"""The whole site on a real HTTP server, and AG-UI's reference client in Node with a key of the person."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
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
from adk_site.embedded.paths import CHECKOUT
from runtime.agents import LlmAgent
from tests.a2a_server import free_socket, listening_app
from tests.fakes import ScriptedModel
from tests.integration.api.conftest import make_key
from tests.served_agents import Served

APP = "desk"
CLIENT = CHECKOUT / "tests/ag_ui_client.mjs"
PAGE = CHECKOUT / "docs/ag-ui.md"
NODE = shutil.which("node", path=f"{os.environ['PATH']}:{Path(sys.executable).parent}")
"""Node of this machine, or that of the wheel with which `make lint` installs the packages."""


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def tools() -> list[Any]:
    return []


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
    """The module of the documentation's page, where Node finds the client's package."""
    if NODE is None or not (CHECKOUT / "node_modules/@ag-ui/client").exists():
        if os.environ.get("CI"):
            pytest.fail("node_modules has no @ag-ui/client: run `make lint`, or npm install.")
        pytest.skip("node_modules has no @ag-ui/client")
    [source] = re.findall(r"```js\n(// durable\.mjs\n.*?)```", PAGE.read_text(), re.DOTALL)
    folder = tmp_path_factory.mktemp("ag_ui")
    (folder / "node_modules").symlink_to(CHECKOUT / "node_modules")
    path = folder / "durable.mjs"
    path.write_text(source)
    return path


class Page:
    """A page with AG-UI's client, about one thread."""

    def __init__(self, process: asyncio.subprocess.Process, thread_id: str) -> None:
        self.thread_id = thread_id
        self._process = process

    async def send(self, *texts: str, **parameters: Any) -> None:
        """Begin a run with messages of the person."""
        said = [{"id": str(uuid4()), "role": "user", "content": text} for text in texts]
        messages = [*parameters.pop("messages", ()), *said]
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**parameters, "messages": messages}).encode() + b"\n")
        await self._process.stdin.drain()

    async def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 30)
        found: dict[str, Any] = json.loads(line)
        return found

    async def result(self) -> dict[str, Any]:
        """Return what the client has at the end of the run."""
        while "event" in (found := await self.line()):
            pass
        return found

    async def run(self, *texts: str, **parameters: Any) -> dict[str, Any]:
        await self.send(*texts, **parameters)
        return await self.result()


@asynccontextmanager
async def page_of(durable: Path, site: str, key: str, thread_id: str = "") -> AsyncGenerator[Page, None]:
    thread_id = thread_id or str(uuid4())
    process = await asyncio.create_subprocess_exec(
        NODE or "node",
        CLIENT,
        durable,
        f"{site}/ag-ui/{APP}",
        key,
        thread_id,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=64 * 1024**2,
    )
    try:
        yield Page(process, thread_id)
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
async def page(durable: Path, site: str, key: str) -> AsyncGenerator[Page, None]:
    async with page_of(durable, site, key) as found:
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
