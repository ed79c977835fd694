"""Parameters of a connection to an MCP server, by transport. Timeouts are in seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
from mcp import StdioServerParameters
from pydantic import BaseModel, ConfigDict, Field

from runtime.models.loop_clients import ssl_context

HttpClientFactory = Callable[..., httpx2.AsyncClient]


def create_http_client(
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """Return a client that shares its certificates with all clients of the process."""
    # Reading the certificates for each client is slow and blocks the event loop.
    return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, verify=ssl_context())


class StdioConnectionParams(BaseModel):
    """Server that is a program on this computer.

    Attributes:
        timeout: longest time for starting the program, and for listing its tools.
        read_timeout: longest duration of a call.
    """

    model_config = ConfigDict(extra="forbid")

    server_params: StdioServerParameters
    timeout: float = Field(default=30.0, gt=0)
    read_timeout: float = Field(default=300.0, gt=0)


class _HttpConnectionParams(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    url: str
    headers: dict[str, Any] | None = Field(default=None, repr=False)
    timeout: float = Field(default=5.0, gt=0)
    sse_read_timeout: float = Field(default=300.0, gt=0)
    httpx_client_factory: HttpClientFactory = Field(default=create_http_client, exclude=True)

    @property
    def read_timeout(self) -> float:
        """Longest duration of a call."""
        return self.sse_read_timeout


class SseConnectionParams(_HttpConnectionParams):
    """Server that sends events over HTTP, the predecessor of streamable HTTP.

    Attributes:
        timeout: longest time for opening a connection, and for listing the tools.
        sse_read_timeout: longest duration of a call, and of silence on the connection.
    """


class StreamableHTTPConnectionParams(_HttpConnectionParams):
    """Server that answers over streamable HTTP.

    Attributes:
        timeout: longest time for opening a connection, and for listing the tools.
        sse_read_timeout: longest duration of a call, and of silence during a call.
        terminate_on_close: True to report the end of the session to the server.
    """

    terminate_on_close: bool = True


ConnectionParams = StdioConnectionParams | SseConnectionParams | StreamableHTTPConnectionParams
