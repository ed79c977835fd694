"""`/healthz` tells those who watch the processes whether this one can serve people."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from adk_site import health
from adk_site.asgi import application
from sessions_app.db import pool

pytestmark = pytest.mark.usefixtures("loop_end")
# As a container's runtime asks: by address, without HTTPS.
SCOPE = {"type": "http", "method": "GET", "path": "/healthz", "headers": [(b"host", b"10.0.0.7:8000")]}


async def status() -> int:
    asked = ApplicationCommunicator(application, SCOPE)
    await asked.send_input({"type": "http.request"})
    answer: dict[str, Any] = await asked.receive_output(timeout=5)
    return int(answer["status"])


@pytest.mark.django_db
async def test_a_process_whose_postgresql_answers_is_healthy() -> None:
    assert await status() == 200


async def test_a_process_whose_postgresql_is_away_is_not(
    monkeypatch: pytest.MonkeyPatch, servers: None
) -> None:
    monkeypatch.setattr(pool, "_connection_parameters", lambda: {"host": "/nowhere"})
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.1)
    assert await status() == 503
