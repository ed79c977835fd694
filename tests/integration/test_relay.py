"""What processes tell each other over Redis (design.md, "Streaming: the channel layer is a hint")."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest
from channels.layers import channel_layers, get_channel_layer
from pytest_django import Settings

from sessions_app.conf import conf
from sessions_app.db.event_log import SessionStatus
from sessions_app.live.frames import Notice
from sessions_app.live.hub import Hub
from sessions_app.live.relay import GROUP, Relay
from sessions_app.live.streamed_text import StreamKey

AN_HOUR = 3_600.0


class Reader:
    """Someone who watches, and notes the text."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[str] = asyncio.Queue()

    def on_text(self, frame: str) -> None:
        self.frames.put_nowait(frame)

    def on_event(self, seq: int, frame: str) -> None: ...

    def on_log_position(self, seq: int) -> None: ...

    def on_notice(self, notice: Notice, frame: str) -> None: ...

    def on_status(self, session_status: SessionStatus) -> None: ...

    def on_deleted(self) -> None: ...


class Listener(Hub):
    """Another process's hub, which notes what it is told."""

    def __init__(self) -> None:
        super().__init__(Relay())
        self.hints: asyncio.Queue[tuple[UUID, int]] = asyncio.Queue()

    def receive_log_position(self, session_id: UUID, seq: int) -> None:
        self.hints.put_nowait((session_id, seq))


@pytest.fixture(autouse=True)
def own_layer(servers: None) -> Iterator[None]:
    """A channel layer without connections of earlier loops."""
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


@pytest.fixture
def gather_for_an_hour(settings: Settings) -> Iterator[None]:
    settings.ADK = {"relay_seconds": AN_HOUR}
    conf.cache_clear()
    yield
    conf.cache_clear()


@asynccontextmanager
async def listening(relay: Relay, hub: Hub) -> AsyncIterator[None]:
    """While the relay, which joins the others first, brings the hub what they tell."""
    layer = get_channel_layer()
    others = await layer.connection(0).zcard(layer._group_key(GROUP))
    task = asyncio.create_task(relay.listen(hub))
    while await layer.connection(0).zcard(layer._group_key(GROUP)) == others:
        await asyncio.sleep(0.01)
    yield
    await relay.stop()
    await task


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    """One that has joined."""
    hub = Listener()
    async with listening(Relay(), hub):
        yield hub


async def test_after_silence_news_leave_at_once_and_what_follows_is_gathered(
    gather_for_an_hour: None, listener: Listener
) -> None:
    here, session_id = Relay(), uuid4()
    here.send_log_position(session_id, 1)
    assert await asyncio.wait_for(listener.hints.get(), timeout=5) == (session_id, 1)
    here.send_log_position(session_id, 2)
    here.send_log_position(session_id, 3)
    assert listener.hints.empty()
    assert here._sending is not None
    here._sending.cancel()


async def test_what_is_said_at_one_moment_goes_in_one_message(listener: Listener) -> None:
    here, session_id = Relay(), uuid4()
    for seq in (1, 2, 3):
        here.send_log_position(session_id, seq)
    await listener.hints.get()
    assert listener.hints.qsize() == 2


async def test_who_watched_before_its_process_had_joined_gets_the_text_all_the_same() -> None:
    session_id, reader, speaks, watches = uuid4(), Reader(), Relay(), Relay()
    here, there = Hub(speaks), Hub(watches)
    there.watch(session_id, reader)
    async with listening(speaks, here):
        here.publish_text(session_id, StreamKey(1, "e-1", "event", "agent", thought=False), "It takes ")
        async with listening(watches, there):
            assert "It takes " in await asyncio.wait_for(reader.frames.get(), timeout=5)
