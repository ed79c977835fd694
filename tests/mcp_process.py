"""MCP servers for tests as processes of their own, and the parameters of connections to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from adk_site.embedded.paths import CHECKOUT
from runtime.tools.mcp_tool import (
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from tests.forked_program import packages

STDIO = StdioServerParameters(
    command=sys.executable, args=["-m", "tests.mcp_server", "stdio"], cwd=str(CHECKOUT)
)
SECONDS = 60.0  # Other tests run beside this one.


def stdio_params(*options: str) -> StdioConnectionParams:
    """Return the parameters of a server that the connection starts by itself."""
    server = STDIO.model_copy(update={"args": [*STDIO.args, *options]})
    return StdioConnectionParams(server_params=server, timeout=SECONDS)


def http_params(port: int, headers: dict[str, str] | None = None) -> StreamableHTTPConnectionParams:
    return StreamableHTTPConnectionParams(
        url=f"http://127.0.0.1:{port}/mcp", timeout=SECONDS, headers=headers
    )


def sse_params(port: int) -> SseConnectionParams:
    return SseConnectionParams(url=f"http://127.0.0.1:{port}/sse", timeout=SECONDS)


@contextmanager
def running_server(transport: str, port: int, *options: str) -> Iterator[None]:
    """Run a server over HTTP until the end of the block; it listens when the block begins."""
    program = ("tests.mcp_server", transport, "--port", str(port), *options)
    ours, theirs = os.pipe()
    with open(ours) as output, open(os.devnull) as nothing:
        process = packages().run(*program, environment=os.environ, files=(nothing.fileno(), theirs, 2))
        os.close(theirs)
        try:
            assert output.readline() == "listening\n"
            yield
        finally:
            process.kill()
            process.wait()
