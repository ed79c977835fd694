"""How long a stop takes from the request in one process until another has hung up on the model, and written the end.

This process asks, and plays the model; a Daphne process runs the invocations.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from websockets.asyncio.client import ClientConnection

from sessions_app import use_cases
from sessions_app.db.threads import in_thread
from sessions_app.models import Session
from tests.benchmarks.daphne import daphne
from tests.benchmarks.doors import enter, make_doors
from tests.model_server import ModelServer, Turn

RUNS = 50
HELD = Turn(text=["So far ", "and no further."], hold_before=[1])


async def measure() -> list[str]:
    """A line for each of the two."""
    (door,) = await in_thread(make_doors, 1, "help_desk")
    session = await Session.objects.aget(pk=UUID(door.path.split("/")[-2]))
    person = await get_user_model().objects.aget(pk=session.user_id)
    async with ModelServer() as server:
        environment = {
            "ADK_MODEL": "gemini-2.5-flash",
            "GOOGLE_API_KEY": "bench",
            "GOOGLE_GEMINI_BASE_URL": server.url,
        }
        with daphne("adk_site.asgi:application", "tests.benchmarks.settings", **environment) as (port, _):
            socket = await enter(port, door)
            await _stop_one(
                server, socket, person, session
            )  # the first one fills caches and opens connections
            runs = [await _stop_one(server, socket, person, session) for _ in range(RUNS)]
            await socket.close()
    closed, written = zip(*runs, strict=True)
    return [
        f"stop from another process, the model's connection is closed: {_figures(closed)}",
        f"stop from another process, the interrupted event is written: {_figures(written)}",
    ]


async def _stop_one(
    server: ModelServer, socket: ClientConnection, person: Any, session: Session
) -> tuple[float, float]:
    """Milliseconds until the model is hung up on, and until the person sees the committed event."""
    server.play(HELD)
    await socket.send(json.dumps({"v": 1, "type": "message", "id": uuid4().hex, "text": "go"}))
    request = await server.next_request()
    growing = await _frame(socket, "partial")
    asked = time.perf_counter()
    await use_cases.cancel(person, session.pk, growing["invocation_id"])
    await request.disconnected.wait()
    closed = time.perf_counter()
    while not (await _frame(socket, "event"))["event"].get("interrupted"):
        continue
    written = time.perf_counter()
    while (await _frame(socket, "invocation"))["status"] != "cancelled":
        continue
    return 1000 * (closed - asked), 1000 * (written - asked)


async def _frame(socket: ClientConnection, kind: str) -> dict[str, Any]:
    """The next frame of the kind."""
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == kind:
            return frame


def _figures(milliseconds: tuple[float, ...]) -> str:
    ordered = sorted(milliseconds)
    return (
        f"median {statistics.median(ordered):.0f} ms, "
        f"95 % within {ordered[int(0.95 * len(ordered))]:.0f} ms, worst {ordered[-1]:.0f} ms"
    )
