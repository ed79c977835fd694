"""`/healthz` reports to load balancers and container runtimes whether the process can serve requests."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from adk_site import health
from adk_site.asgi import application
from sessions_app.process import pool

pytestmark = pytest.mark.usefixtures("loop_end")
# The request of a container runtime: by address, without HTTPS.
SCOPE = {"type": "http", "method": "GET", "path": "/healthz", "headers": [(b"host", b"10.0.0.7:8000")]}


async def status() -> int:
    request = ApplicationCommunicator(application, SCOPE)  # type: ignore[no-untyped-call]  # asgiref is untyped
    await request.send_input({"type": "http.request"})  # type: ignore[no-untyped-call]
    response: dict[str, Any] = await request.receive_output(timeout=5)  # type: ignore[no-untyped-call]
    return int(response["status"])


@pytest.mark.django_db
async def test_a_process_that_reaches_postgresql_is_healthy() -> None:
    assert await status() == 200


async def test_a_process_that_does_not_reach_postgresql_is_unhealthy(
    monkeypatch: pytest.MonkeyPatch, servers: None
) -> None:
    monkeypatch.setattr(pool, "_connection_parameters", lambda: {"host": "/nowhere"})
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", 0.1)
    assert await status() == 503
