"""Stored events of any shape, on the websocket: each is one frame, in order, and none keeps the others back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from django.contrib.auth.models import User

from sessions_app.models import Session
from sessions_app.routing import websocket_urlpatterns
from tests.fuzz.test_events import BATCHES, KNOWN, store
from tests.integration.socket_tab import Websocket

pytestmark = pytest.mark.usefixtures("loop_end", "marked_rows")


@pytest.mark.parametrize("bodies", [*BATCHES, KNOWN], ids=lambda bodies: next(iter(bodies)))
async def test_odd_events_keep_no_other_back(transactional_db: None, bodies: dict[str, Any]) -> None:
    seqs, last_seq = await catch_up(list(bodies.values()))
    assert seqs == list(range(1, last_seq + 1))


async def catch_up(bodies: list[Any]) -> tuple[list[int], int]:
    """Open a tab on a log with these events, and read to its end; return the frames' sequences and the log's last."""
    person = await User.objects.acreate(username="ada")
    session = await Session.objects.acreate(app_name="echo", user=person, key="s-1")
    await sync_to_async(store)(session, bodies)
    socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
    socket.scope["user"] = person
    await socket.connect()
    await socket.send_to(text_data='{"v": 1, "type": "hello", "after": 0}')
    assert json.loads(await socket.receive_from(timeout=20))["type"] == "ready"
    frames = [json.loads(await socket.receive_from(timeout=20)) for _ in range(session.last_seq)]
    await socket.disconnect()
    return [frame["seq"] for frame in frames], session.last_seq
