"""A toolset for each transport, connected to a server of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

import pytest

from runtime.tools.mcp_tool import McpToolset
from runtime.tools.mcp_tool.connection_params import ConnectionParams
from tests.free_port import free_port
from tests.mcp_process import http_params, running_server, sse_params, stdio_params


@pytest.fixture(scope="module", params=["stdio", "sse", "http", "http with sessions"])
def params(request: pytest.FixtureRequest) -> Iterator[ConnectionParams]:
    transport, *sessions = request.param.split(" ", 1)
    if transport == "stdio":
        yield stdio_params()
        return
    port = free_port()
    with running_server(transport, port, *(["--legacy"] if sessions else [])):
        yield sse_params(port) if transport == "sse" else http_params(port)


@pytest.fixture
async def toolset(params: ConnectionParams) -> AsyncGenerator[McpToolset, None]:
    toolset = McpToolset(connection_params=params)
    yield toolset
    await toolset.close()
