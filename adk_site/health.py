"""`/healthz`: whether this process can serve people. Asked by the proxy or whoever watches the containers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sessions_app.db.pool import UNAVAILABLE, fetch_one

logger = logging.getLogger(__name__)
PATH = "/healthz"
PATIENCE_SECONDS = 3.0

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def with_health(application: Any) -> Application:
    """The HTTP application, with `/healthz` before it: 200 when PostgreSQL answers, else 503.

    No middleware stands before it: who asks knows neither a host name of the site nor HTTPS.
    """

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"] == PATH:
            await _tell_health(send)
        else:
            await application(scope, receive, send)

    return answer


async def _tell_health(send: Send) -> None:
    status, text = await _standing()
    headers = [(b"content-type", b"text/plain"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def _standing() -> tuple[int, bytes]:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await fetch_one("SELECT 1", {})
    except (*UNAVAILABLE, TimeoutError) as error:
        logger.warning("Not healthy: PostgreSQL does not answer: %s", error)
        return 503, b"PostgreSQL does not answer.\n"
    return 200, b"ok\n"
