"""`/healthz`: health check of a web process, for proxies and container orchestrators; `/metrics` for Prometheus.

Both are asked by the address of the process, over plain HTTP, in place of the site's host name.
"""

import asyncio
import logging

from django.conf import settings

from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send
from sessions_app.process.pool import UNAVAILABLE, fetch_one

logger = logging.getLogger(__name__)
PATH = "/healthz"
METRICS = "/metrics"
TIMEOUT_SECONDS = 3.0


def with_health(application: Application) -> Application:
    """Wrap the HTTP application in a handler of `/healthz`: 200 if PostgreSQL answers, otherwise 503.

    A request for `/metrics` with a token is passed on as one to the site's host name by HTTPS.
    """

    async def handle(scope: AsgiScope, receive: Receive, send: Send) -> None:
        # Before Django's middleware: health checks use neither the site's host name nor HTTPS.
        if scope["path"] == PATH:
            await _send_health(send)
        elif scope["path"] == METRICS and _has_token(scope):
            await application(_to_site(scope), receive, send)
        else:
            await application(scope, receive, send)

    return handle


def _has_token(scope: AsgiScope) -> bool:
    return any(name == b"authorization" and value.startswith(b"Bearer ") for name, value in scope["headers"])


def _to_site(scope: AsgiScope) -> AsgiScope:
    host = settings.ALLOWED_HOSTS[0].lstrip(".").replace("*", "localhost")
    replaced = {b"host": host.encode(), b"x-forwarded-proto": b"https"}
    kept = [(name, value) for name, value in scope["headers"] if name not in replaced]
    return {**scope, "scheme": "https", "headers": [*kept, *replaced.items()]}


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
