"""The open connections of this process, shared by toolsets.

There is one connection for each server, set of headers and event loop. Opening a connection may start a program or take
several requests, so invocations do not open their own. Headers are part of the key, because they may identify a person:
people must not share a session on the server. A connection belongs to the event loop that opened it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakSet

from runtime.tools.mcp_allow_list import refused_server_error
from runtime.tools.mcp_tool.connection import PERSON_ANSWERS, Challenge, ClientHandlers, McpConnection
from runtime.tools.mcp_tool.connection_params import ConnectionParams, HttpClientFactory
from runtime.tools.mcp_tool.transport import is_allowed, open_transport, server_name

# There may be many people: a connection with headers of one person closes after this time without a request.
PERSONAL_IDLE_SECONDS = 300.0


class _Key(NamedTuple):
    loop: asyncio.AbstractEventLoop
    params: str
    factory: HttpClientFactory | None
    headers: frozenset[tuple[str, str]]
    handlers: ClientHandlers


class _Entry(NamedTuple):
    connection: McpConnection
    holders: WeakSet[object]


_entries: dict[_Key, _Entry] = {}
_ending: set[asyncio.Task[None]] = set()


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
        handlers: answers to the server's questions; each object has connections of its own.

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
    held = [(key, entry) for key, entry in _entries.items() if key.loop is loop and holder in entry.holders]
    for key, entry in held:
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
