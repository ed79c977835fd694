"""`/healthz`: whether this process can serve people. Asked by the proxy or whoever watches the containers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sessions_app.pool import UNAVAILABLE, fetch_one

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 3.0

Message = MutableMapping[str, Any]


async def health(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Answer 200 when PostgreSQL answers, else 503. No middleware: the asker knows no host name and no HTTPS."""
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
