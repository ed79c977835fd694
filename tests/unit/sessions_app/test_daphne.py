"""Contract: under Daphne a long message waits for a slow reader; another ASGI server is left alone."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from unittest.mock import Mock

import daphne.server
import pytest

from sessions_app.asgi.daphne import FRAGMENT_CHARACTERS, with_backpressure


async def send_to(connection: list[Any], message: Any) -> None:
    connection.append(message)


@pytest.mark.parametrize("kind", ["websocket", "http"])
async def test_the_send_of_another_server_is_left_alone(kind: str) -> None:
    connection: list[Any] = []

    async def plain(message: Any) -> None:
        await send_to(connection, message)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": f"{kind}.close"})

    for send in (plain, partial(send_to, connection)):
        await with_backpressure(application)({"type": kind}, None, send)  # type: ignore[arg-type]
    assert connection == [{"type": f"{kind}.close"}] * 2


@pytest.mark.parametrize(("is_open", "opcodes"), [(True, [(1, False), (0, True)]), (False, [(1, False)])])
async def test_a_long_message_is_sent_in_fragments_that_wait_for_room_until_the_browser_closes_the_socket(
    is_open: bool, opcodes: list[tuple[int, bool]]
) -> None:
    protocol = Mock(state=3, STATE_OPEN=3)
    register, text = protocol.registerProducer, "🙂x" * FRAGMENT_CHARACTERS
    frames: list[tuple[int, str, bool]] = []

    def send_frame(opcode: int, payload: bytes, fin: bool) -> None:
        frames.append((opcode, payload.decode(), fin))
        register.call_args.args[0].pauseProducing()

    protocol.sendFrame = send_frame

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.send", "text": text})

    server_send: Any = partial(daphne.server.Server.handle_reply, protocol)
    wrapped: Any = with_backpressure(application)
    sending: asyncio.Task[None] = asyncio.create_task(wrapped({"type": "websocket"}, None, server_send))
    await asyncio.sleep(0)
    assert len(frames) == 1
    protocol.state = 3 if is_open else 2
    register.call_args.args[0].resumeProducing()
    await sending
    assert [(opcode, fin) for opcode, _, fin in frames] == opcodes
    assert ("".join(part for _, part, _ in frames) == text) is is_open
