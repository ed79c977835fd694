"""Contract: of a session that nobody here watches any more, the hub keeps what this process itself tells."""

from __future__ import annotations

from unittest.mock import Mock
from uuid import uuid4

from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import StreamKey, TextChunk

SESSION = uuid4()
THEIRS = StreamKey(2, "e-1", "event", "agent", thought=False)
OURS = StreamKey(2, "e-2", "another event", "other agent", thought=False)


def hub_with_text_of_both() -> tuple[Hub, Mock, Mock]:
    """The hub, and two tabs that watch."""
    hub, first, second = Hub(Mock()), Mock(), Mock()
    hub.watch(SESSION, first)
    hub.watch(SESSION, second)
    hub.receive_text(SESSION, TextChunk(THEIRS, 0, "told by another process"))
    hub.publish_text(SESSION, OURS, "told by this one")
    return hub, first, second


def texts(hub: Hub) -> list[str]:
    return [chunk.text for chunk in hub.texts(SESSION)]


async def test_text_of_another_process_goes_with_the_last_who_watched() -> None:
    """Its end may never be heard of here."""
    hub, first, second = hub_with_text_of_both()
    hub.unwatch(SESSION, first)
    assert texts(hub) == ["told by another process", "told by this one"]
    hub.unwatch(SESSION, second)
    assert texts(hub) == ["told by this one"]


async def test_who_comes_back_asks_for_it_anew() -> None:
    outbox, tab = Mock(), Mock()
    hub = Hub(outbox)
    hub.watch(SESSION, tab)
    hub.receive_text(SESSION, TextChunk(THEIRS, 0, "told by another process"))
    hub.unwatch(SESSION, tab)
    hub.watch(SESSION, tab)
    hub.request_text(SESSION)
    outbox.request_text.assert_called_once_with(SESSION)
    hub.receive_text(SESSION, TextChunk(THEIRS, 0, "told by another process, and more"))
    assert texts(hub) == ["told by another process, and more"]
