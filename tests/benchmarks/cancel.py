"""Latency of a cancel request to another process: until the model's connection is closed, and until the commit.

This process requests the cancellation and serves the model; a Daphne process runs the invocations.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from websockets.asyncio.client import ClientConnection

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from tests.benchmarks.daphne import daphne
from tests.benchmarks.doors import enter, make_doors
from tests.model_server import ModelServer, Turn

RUNS = 50
HELD = Turn(text=["So far ", "and no further."], hold_before=[1])


async def measure() -> list[str]:
    """Return one line for the closed connection and one for the committed event."""
    (door,) = await in_thread(make_doors, 1, "help_desk")
    session = await Session.objects.aget(pk=UUID(door.path.split("/")[-2]))
    person = await get_user_model().objects.aget(pk=session.user_id)
    async with ModelServer() as server:
        environment = {
            "ADK_MODEL": "gemini-2.5-flash",
            "GOOGLE_API_KEY": "bench",
            "GOOGLE_GEMINI_BASE_URL": server.url,
        }
        with daphne("adk_site.asgi:application", "tests.benchmarks.settings", environment=environment) as (
            port,
            _,
        ):
            socket = await enter(port, door)
            await _cancel_one(server, socket, person, session)  # fills caches and opens connections
            runs = [await _cancel_one(server, socket, person, session) for _ in range(RUNS)]
            await socket.close()
    closed, committed = zip(*runs, strict=True)
    return [
        f"cancel from another process, the model's connection is closed: {_summarize(closed)}",
        f"cancel from another process, the interrupted event is committed: {_summarize(committed)}",
    ]


async def _cancel_one(
    server: ModelServer, socket: ClientConnection, person: User, session: Session
) -> tuple[float, float]:
    """Return the milliseconds until the model's connection is closed, and until the commit's frame arrives."""
    server.play(HELD)
    await socket.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": "go"}))
    request = await server.next_request()
    partial = await _next_frame(socket, "partial")
    requested = time.perf_counter()
    await use_cases.cancel(actors.person(person), session.pk, partial["invocation_id"])
    await request.disconnected.wait()
    closed = time.perf_counter()
    while not (await _next_frame(socket, "event"))["event"].get("interrupted"):
        continue
    committed = time.perf_counter()
    while (await _next_frame(socket, "invocation"))["status"] != "cancelled":
        continue
    return 1000 * (closed - requested), 1000 * (committed - requested)


async def _next_frame(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """Return the next frame of this type."""
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == kind:
            return frame


def _summarize(milliseconds: tuple[float, ...]) -> str:
    ordered = sorted(milliseconds)
    return (
        f"median {statistics.median(ordered):.0f} ms, "
        f"95 % within {ordered[int(0.95 * len(ordered))]:.0f} ms, worst {ordered[-1]:.0f} ms"
    )
