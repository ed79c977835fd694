"""Contract: of a session without watchers the hub keeps only text of invocations that this process runs."""

from __future__ import annotations

from unittest.mock import Mock, call
from uuid import uuid4

from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import StreamKey, TextChunk

SESSION = uuid4()
REMOTE = StreamKey(2, "e-1", "event", "agent", thought=False)
LOCAL = StreamKey(2, "e-2", "another event", "other agent", thought=False)


def hub_with_both_texts() -> tuple[Hub, Mock, Mock]:
    """Return a hub with text of this and another process, and its two watchers."""
    hub, first, second = Hub(Mock()), Mock(), Mock()
    hub.watch(SESSION, first)
    hub.watch(SESSION, second)
    hub.receive_text(SESSION, TextChunk(REMOTE, 0, "from another process"))
    hub.publish_text(SESSION, LOCAL, "from this process")
    return hub, first, second


def texts(hub: Hub) -> list[str]:
    return [chunk.text for chunk in hub.texts(SESSION)]


async def test_text_of_another_process_is_dropped_with_the_last_watcher() -> None:
    """This process may never hear of the end of the other process's invocation."""
    hub, first, second = hub_with_both_texts()
    hub.unwatch(SESSION, first)
    assert texts(hub) == ["from another process", "from this process"]
    hub.unwatch(SESSION, second)
    assert texts(hub) == ["from this process"]


async def test_a_watcher_that_returns_asks_for_the_text_again() -> None:
    relay, watcher = Mock(), Mock()
    hub = Hub(relay)
    hub.watch(SESSION, watcher)
    hub.receive_text(SESSION, TextChunk(REMOTE, 0, "from another process"))
    hub.unwatch(SESSION, watcher)
    hub.watch(SESSION, watcher)
    assert relay.mock_calls == [call.follow(SESSION), call.unfollow(SESSION), call.follow(SESSION)]
    hub.receive_text(SESSION, TextChunk(REMOTE, 0, "from another process, and more"))
    assert texts(hub) == ["from another process, and more"]
