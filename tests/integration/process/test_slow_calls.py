"""Slow tools, downloads and a slow broker delay only calls of their own kind: a socket is greeted at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from channels.routing import URLRouter
from django.contrib.auth.models import User

from runtime.tools import FunctionTool
from sessions_app.conf import conf
from sessions_app.models import Session
from sessions_app.process.threads import broker_threads, download_threads
from sessions_app.routing import websocket_urlpatterns
from tests.integration.socket_tab import Websocket

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
async def blocked_threads() -> AsyncIterator[None]:
    """All threads for tools, downloads and the broker wait, and as many calls as again wait for them."""
    release = threading.Event()

    def wait() -> str:
        release.wait(60)
        return "done"

    tool, unused_context = FunctionTool(wait), cast(Any, None)
    calls = [tool.run_async(args={}, tool_context=unused_context) for _ in range(2 * conf().tool_threads)]
    calls += [download_threads.run(wait) for _ in range(2 * conf().download_threads)]
    calls += [broker_threads.run(wait) for _ in range(2 * conf().broker_threads)]
    tasks = [asyncio.ensure_future(call) for call in calls]
    yield
    assert not any(task.done() for task in tasks)
    release.set()
    assert set(await asyncio.gather(*tasks)) == {"done"}


async def test_a_socket_is_greeted_while_all_other_threads_wait(person: User, blocked_threads: None) -> None:
    session = await Session.objects.acreate(app_name="help_desk", user=person, key="s-1")
    socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
    socket.scope["user"] = person
    connected, _ = await socket.connect()
    assert connected
    await socket.send_to(text_data='{"v": 1, "type": "hello", "after": 0}')
    assert '"ready"' in await socket.receive_from(timeout=20)
    await asyncio.to_thread(lambda: None)  # asyncio's own threads are free, too
    await socket.disconnect()
