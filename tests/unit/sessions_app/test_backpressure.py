"""Contract: a project in which Daphne is installed can be served by another ASGI server."""

from __future__ import annotations

from functools import partial
from typing import Any

import daphne.server  # noqa: F401 - as in a project with Daphne in its INSTALLED_APPS
import pytest

from sessions_app.serving.backpressure import with_backpressure


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
