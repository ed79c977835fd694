"""An MCP server as a toolset uses it: requests over the shared connection, repeated after a restart of the server.

Any request is sent again if the server refused it unread. A request that changes nothing (lists, resources) is also
sent again if the connection was lost. A tool call is not: it may have taken effect.

Toolsets share the open connections of the process: one for each server, set of headers and event loop. Opening a
connection may start a program or take several requests, so invocations do not open their own. Headers are part of the
key, because they may identify a person: people must not share a session on the server.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from mcp import Client
from mcp.types import BlobResourceContents, PaginatedResult, Resource, TextResourceContents, Tool

from runtime.context import Context, ReadonlyContext
from runtime.tools.header_provider import Headers
from runtime.tools.mcp_allow_list import refused_server_error
from runtime.tools.mcp_tool.connection import (
    PERSON_ANSWERS,
    Challenge,
    ClientHandlers,
    McpConnection,
    McpConnectionError,
    Send,
    SessionEndedError,
    SignInNeededError,
    UnreachableError,
)
from runtime.tools.mcp_tool.connection_params import (
    ConnectionParams,
    HttpClientFactory,
    StdioConnectionParams,
    is_allowed,
    open_transport,
    server_name,
)
from runtime.tools.mcp_tool.headers import HeaderSource

# There may be many people: a connection with headers of one person closes after this time without a request.
PERSONAL_IDLE_SECONDS = 300.0
_entries: "dict[_Key, _Entry]" = {}
_ending: set[asyncio.Task[None]] = set()
T = TypeVar("T")
Page = TypeVar("Page", bound=PaginatedResult)
PageCo = TypeVar("PageCo", bound=PaginatedResult, covariant=True)
ResourceContents = TextResourceContents | BlobResourceContents
# The server decides on the number of pages, and could send pages without end.
MAX_PAGES = 100


class _Key(NamedTuple):
    loop: asyncio.AbstractEventLoop
    params: str
    factory: HttpClientFactory | None
    headers: frozenset[tuple[str, str]]
    handlers: ClientHandlers


class _Entry(NamedTuple):
    connection: McpConnection
    holders: WeakSet[object]


def connection_of(
    holder: object,
    params: ConnectionParams,
    headers: Mapping[str, str],
    handlers: ClientHandlers = PERSON_ANSWERS,
) -> McpConnection:
    """Return the running event loop's connection to a server; open a new connection if the last was closed or lost.

    Args:
        holder: object that keeps the connection open until it calls `release`.
        headers: headers of a person, in addition to the headers of the parameters.
        handlers: answers to the server's questions; each object has its own connections.

    Raises:
        ConfigurationError: the server is not on the process's list of MCP servers.
    """
    if not is_allowed(params):
        raise refused_server_error(server_name(params))
    text = f"{type(params).__name__} {params.model_dump_json()}"
    factory = getattr(params, "httpx_client_factory", None)
    key = _Key(asyncio.get_running_loop(), text, factory, frozenset(headers.items()), handlers)
    entry = _entries.get(key)
    if entry is None or not entry.connection.is_usable:
        _forget_unusable()
        entry = _entries[key] = _Entry(_open(params, headers, handlers), WeakSet())
    entry.holders.add(holder)
    return entry.connection


async def release(holder: object) -> None:
    """Give up the holder's connections; close connections of the running event loop without another holder."""
    loop = asyncio.get_running_loop()
    for key, entry in list(_entries.items()):
        if key.loop is not loop or holder not in entry.holders:
            continue
        entry.holders.discard(holder)
        if not entry.holders:
            del _entries[key]
            _close_in_background(entry.connection)
    # Includes connections that were replaced after a failure: their programs must end before the process does.
    if ending := [task for task in _ending if task.get_loop() is loop]:
        await asyncio.wait(ending)


def _open(params: ConnectionParams, headers: Mapping[str, str], handlers: ClientHandlers) -> McpConnection:
    challenge = Challenge()
    return McpConnection(
        server_name(params),
        open_transport(params, headers, challenge.note),
        timeout=params.timeout,
        read_timeout=params.read_timeout,
        idle_seconds=PERSONAL_IDLE_SECONDS if headers else None,
        handlers=handlers,
        challenge=challenge,
    )


def _forget_unusable() -> None:
    loop = asyncio.get_running_loop()
    for key, entry in list(_entries.items()):
        # The task of such a connection is gone with its event loop, so there is nothing to close.
        if key.loop.is_closed():
            del _entries[key]
        elif key.loop is loop and not entry.connection.is_usable:
            del _entries[key]
            _close_in_background(entry.connection)


def _close_in_background(connection: McpConnection) -> None:
    task = asyncio.create_task(connection.close())
    _ending.add(task)  # The event loop keeps only weak references to tasks.
    task.add_done_callback(_ending.discard)


class McpServer:
    """Server with the headers of a toolset, and its answers to the server's questions."""

    def __init__(
        self, params: ConnectionParams, headers: HeaderSource, handlers: ClientHandlers = PERSON_ANSWERS
    ) -> None:
        self.params = params
        self.name = server_name(params)
        self._headers = headers
        self._handlers = handlers
        # Known after the first refusal. Until then nobody's token is looked up: most servers want none.
        self._wants_sign_in = False

    async def request(self, context: ReadonlyContext | None, send: Send[T]) -> T:
        """Send a request. If the server refused it unread, send it again over a new connection.

        Raises:
            SignInNeededError: the person has to sign in at the server.
            ExchangeError: the authorization server, which has to renew the person's token, failed.
            McpConnectionError: the server cannot be reached, or the connection was lost before the answer.
            MCPError: the server answered with an error, or did not answer in time.
        """
        headers = await self._headers_of(context)
        token: Headers = {}
        if self._wants_sign_in:
            token = await self._headers.token(context)
        # Without a token, then with the kept token, then with a renewed token.
        for _ in range(2):
            try:
                return await self._send({**headers, **token}, send)
            except SignInNeededError as error:
                self._wants_sign_in = True
                if not error.wants_token:
                    raise
                token = await self._headers.token(context, refused=token)
                if not token:
                    raise
        return await self._send({**headers, **token}, send)

    @property
    def asks_person(self) -> bool:
        """True if the person answers the server's questions; False if the author's functions do."""
        return self._handlers is PERSON_ANSWERS

    @property
    def credential_key(self) -> str | None:
        """Key of the person's credential; None if the toolset's author decides on the credential."""
        return self._headers.credential_key

    async def ask(self, context: Context, error: SignInNeededError) -> bool:
        """Ask the person to sign in; return False if the toolset's author decides on the credential."""
        return await self._headers.ask(context, error.challenge)

    async def _send(self, headers: Headers, send: Send[T]) -> T:
        try:
            return await connection_of(self, self.params, headers, self._handlers).request(send)
        except SessionEndedError:
            return await connection_of(self, self.params, headers, self._handlers).request(send)

    async def list_tools(self, context: ReadonlyContext | None) -> list[Tool]:
        async def send(client: Client) -> list[Tool]:
            tools: list[Tool] = []
            async for page in _read_pages(client.list_tools):
                tools += page.tools
            return tools

        return await self._list(context, send)

    async def list_resources(self, context: ReadonlyContext | None) -> list[Resource]:
        """Return the resources of the server; an empty list if it does not support resources."""

        async def send(client: Client) -> list[Resource]:
            if client.server_capabilities.resources is None:
                return []
            resources: list[Resource] = []
            async for page in _read_pages(client.list_resources):
                resources += page.resources
            return resources

        return await self._list(context, send)

    async def find_resource(self, name: str, context: ReadonlyContext | None) -> Resource:
        """Return a resource by its name.

        Raises:
            ValueError: the server has no such resource.
        """
        for resource in await self.list_resources(context):
            if resource.name == name:
                return resource
        raise ValueError(f"The MCP server {self.name!r} has no resource {name!r}.")

    async def read_resource(
        self, resource: Resource, context: ReadonlyContext | None
    ) -> list[ResourceContents]:
        """Return the contents of a resource."""

        async def send(client: Client) -> list[ResourceContents]:
            return list((await client.read_resource(resource.uri)).contents)

        return await self._repeat_when_lost(context, send)

    async def close(self) -> None:
        """Close the connections of the running event loop, unless another toolset uses them."""
        await release(self)

    async def _list(self, context: ReadonlyContext | None, send: Send[T]) -> T:
        """Send a request that changes nothing, and limit it by the timeout of the connection."""

        async def send_in_time(client: Client) -> T:
            async with asyncio.timeout(self.params.timeout):
                return await send(client)

        try:
            return await self._repeat_when_lost(context, send_in_time)
        except TimeoutError as error:
            seconds = f"{self.params.timeout:g} s"
            raise McpConnectionError(
                f"The MCP server {self.name!r} did not answer within {seconds}."
            ) from error

    async def _repeat_when_lost(self, context: ReadonlyContext | None, send: Send[T]) -> T:
        """Send a request that changes nothing; repeat it once if the connection was lost."""
        try:
            return await self.request(context, send)
        # A new connection could not be opened just now: a second attempt would only double the wait.
        except UnreachableError:
            raise
        except McpConnectionError:
            return await self.request(context, send)

    async def _headers_of(self, context: ReadonlyContext | None) -> dict[str, str]:
        # A program takes no headers, so all people share its connection.
        if isinstance(self.params, StdioConnectionParams):
            return {}
        return await self._headers.headers(context)


class _ListRequest(Protocol[PageCo]):
    async def __call__(self, *, cursor: str | None = None) -> PageCo: ...


async def _read_pages(request: _ListRequest[Page]) -> AsyncIterator[Page]:
    cursor = None
    for _ in range(MAX_PAGES):
        page = await request(cursor=cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
