"""`/healthz` reports to load balancers and container runtimes whether the process can serve requests.

`/metrics` answers Prometheus, too, by the address of the process.
"""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from pytest_django.fixtures import Settings

from adk_site import health
from adk_site.asgi import application
from sessions_app.process import pool

pytestmark = pytest.mark.usefixtures("loop_end")
# The request of a container runtime: by address, without HTTPS.
SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "GET",
    "path": "/healthz",
    "headers": [(b"host", b"10.0.0.7:8000")],
}


async def status(scope: dict[str, Any] = SCOPE) -> int:
    request = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]  # asgiref is untyped
    await request.send_input({"type": "http.request"})  # type: ignore[no-untyped-call]
    response: dict[str, Any] = await request.receive_output(timeout=5)  # type: ignore[no-untyped-call]
    await request.wait(timeout=5)  # type: ignore[no-untyped-call]
    return int(response["status"])


@pytest.mark.django_db
async def test_a_process_that_reaches_postgresql_is_healthy() -> None:
    assert await status() == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("token", "expected"), [("t0ken", 200), ("wrong", 403)])
async def test_prometheus_reads_the_metrics_of_a_process_by_its_address(
    settings: Settings, token: str, expected: int
) -> None:
    settings.ADK = {"metrics_token": "t0ken"}
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = [".example.org"]
    headers = [*SCOPE["headers"], (b"authorization", f"Bearer {token}".encode())]
    assert await status({**SCOPE, "path": "/metrics", "headers": headers}) == expected
    assert await status({**SCOPE, "path": "/metrics"}) == 400


async def test_a_process_that_does_not_reach_postgresql_is_unhealthy(
    monkeypatch: pytest.MonkeyPatch, servers: None
) -> None:
    monkeypatch.setattr(pool, "_connection_parameters", lambda: {"host": "/nowhere"})
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", 0.1)
    assert await status() == 503
