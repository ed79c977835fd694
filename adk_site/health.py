"""`/healthz`: health check of a web process, for proxies and container orchestrators."""

from __future__ import annotations

import asyncio
import logging

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send
from sessions_app.process.pool import UNAVAILABLE, fetch_one

logger = logging.getLogger(__name__)
PATH = "/healthz"
TIMEOUT_SECONDS = 3.0


def with_health(application: Application) -> Application:
    """Wrap the HTTP application in a handler of `/healthz`: 200 if PostgreSQL answers, otherwise 503."""

    async def handle(scope: AsgiScope, receive: Receive, send: Send) -> None:
        # Before Django's middleware: health checks use neither the site's host name nor HTTPS.
        if scope["path"] == PATH:
            await _send_health(send)
        else:
            await application(scope, receive, send)

    return handle


async def _send_health(send: Send) -> None:
    status, text = await _check_database()
    headers = [(b"content-type", b"text/plain"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


async def _check_database() -> tuple[int, bytes]:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await fetch_one("SELECT 1", {})
    except (*UNAVAILABLE, TimeoutError) as error:
        logger.warning("Not healthy: PostgreSQL does not answer: %s", error)
        return 503, b"PostgreSQL does not answer.\n"
    return 200, b"ok\n"
