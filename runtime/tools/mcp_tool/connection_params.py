"""Parameters of a connection to an MCP server, and the transports for them. Timeouts are in seconds."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TextIO
from urllib.parse import urlsplit

import httpx2
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ConfigDict, Field

from runtime.http_bodies import limit_body
from runtime.http_logs import hide_secrets_of_urls
from runtime.models.loop_clients import ssl_context
from runtime.tools.mcp_allow_list import is_allowed_command, is_allowed_url

HttpClientFactory = Callable[..., httpx2.AsyncClient]
MAX_ANSWER_BYTES = 20_000_000
"""Decoded bytes of an answer to a request, with all its events."""
Hook = Callable[[httpx2.Response], Awaitable[None]]


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


hide_secrets_of_urls()


def open_transport(params: ConnectionParams, headers: Mapping[str, str], on_response: Hook) -> Transport:
    """Return the transport. It connects when its context is entered, and calls the hook with each HTTP response."""
    match params:
        case StdioConnectionParams():
            # Celery replaces `sys.stderr` by an object that no program can write to.
            errors: TextIO = sys.__stderr__ or sys.stderr
            return stdio_client(params.server_params, errlog=errors)
        case SseConnectionParams():
            return sse_client(
                params.url,
                headers={**(params.headers or {}), **headers},
                timeout=params.timeout,
                sse_read_timeout=params.sse_read_timeout,
                httpx_client_factory=partial(_create_bounded_client, params, on_response),
            )
        case StreamableHTTPConnectionParams():
            return _open_streamable_http(params, headers, on_response)


def server_name(params: ConnectionParams) -> str:
    """Return the name of the server for messages: its program, or its URL."""
    # Without the query and the user part of a URL, which may hold secrets.
    if isinstance(params, StdioConnectionParams):
        server = params.server_params
        words = [word for word in server.args if not word.startswith("-")]
        return " ".join([server.command, *words[:1]])
    parts = urlsplit(params.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def is_allowed(params: ConnectionParams) -> bool:
    """Return True if the server is on the process's list of MCP servers."""
    if isinstance(params, StdioConnectionParams):
        return is_allowed_command([params.server_params.command, *params.server_params.args])
    return is_allowed_url(params.url)


@asynccontextmanager
async def _open_streamable_http(
    params: StreamableHTTPConnectionParams, headers: Mapping[str, str], on_response: Hook
) -> AsyncGenerator[Any, None]:
    timeout = httpx2.Timeout(params.timeout, read=params.sse_read_timeout)
    async with (
        _create_bounded_client(
            params, on_response, headers={**(params.headers or {}), **headers}, timeout=timeout
        ) as client,
        streamable_http_client(
            params.url, http_client=client, terminate_on_close=params.terminate_on_close
        ) as streams,
    ):
        yield streams


def _create_bounded_client(
    params: SseConnectionParams | StreamableHTTPConnectionParams, on_response: Hook, **settings: Any
) -> httpx2.AsyncClient:
    client = params.httpx_client_factory(**settings)
    client.event_hooks["response"][:0] = [_limit_answer, on_response]
    return client


async def _limit_answer(response: httpx2.Response) -> None:
    # A stream of the server's own messages has no end; `mcp` limits each event of it.
    if response.request.method != "GET" or not response.is_success:
        limit_body(response, MAX_ANSWER_BYTES)
