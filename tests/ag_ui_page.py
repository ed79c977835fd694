"""A page of another product: AG-UI's reference client in Node, with the module of docs/ag-ui.md."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from adk_site.embedded.paths import CHECKOUT

CLIENT = CHECKOUT / "tests/ag_ui_client.mjs"
DOCUMENTATION = CHECKOUT / "docs/ag-ui.md"
NODE = shutil.which("node", path=f"{os.environ['PATH']}:{Path(sys.executable).parent}")
"""Node of this machine, or that of the wheel with which `make lint` installs the packages."""


def write_durable(folder: Path) -> Path:
    """Write the module of the documentation where Node finds the client's package; return its path."""
    if NODE is None or not (CHECKOUT / "node_modules/@ag-ui/client").exists():
        if os.environ.get("CI"):
            pytest.fail("node_modules has no @ag-ui/client: run `make lint`, or npm install.")
        pytest.skip("node_modules has no @ag-ui/client")
    (folder / "node_modules").symlink_to(CHECKOUT / "node_modules")
    for name, source in re.findall(r"```js\n// (\w+\.mjs)\n(.*?)```", DOCUMENTATION.read_text(), re.DOTALL):
        (folder / name).write_text(source)
    return folder / "durable.mjs"


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

    async def event(self, kind: str) -> None:
        """Wait for an event of this type in a run with `echo`."""
        while (await self.line())["event"]["type"] != kind:
            pass

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
async def page_of(durable: Path, url: str, key: str, thread_id: str = "") -> AsyncGenerator[Page, None]:
    """Open a page with the client in Node.

    Args:
        durable: the module of the documentation's page.
        url: address of the agent.
        thread_id: the thread; empty for a new one.
    """
    thread_id = thread_id or str(uuid4())
    process = await asyncio.create_subprocess_exec(
        NODE or "node",
        CLIENT,
        durable,
        url,
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
