"""Following: news of a session go only to the processes that follow it, and a process that is alone sends none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.exceptions import ChannelFull
from channels.layers import get_channel_layer
from pytest_django import Settings
from redis.asyncio import Redis

from sessions_app.live.followers import Followers, session_topic
from sessions_app.live.hub import Hub
from sessions_app.live.relay import Relay
from sessions_app.live.streamed_text import StreamKey
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate
from sessions_app.store.sql.event_log import SessionStatus

HEARTBEAT = 0.2
UNHURRIED = {"heartbeat_seconds": 10.0}
"""Settings under which a busy machine repeats no message that it takes long to send, where messages are counted."""


class Watcher:
    """A watcher that keeps log positions and texts."""

    def __init__(self) -> None:
        self.positions: asyncio.Queue[int] = asyncio.Queue()
        self.texts: asyncio.Queue[str] = asyncio.Queue()

    def on_event(self, update: EventUpdate) -> None: ...
    def on_log_position(self, seq: int) -> None:
        self.positions.put_nowait(seq)

    def on_text(self, update: TextUpdate) -> None:
        self.texts.put_nowait(update.chunk.text)

    def on_notice(self, update: NoticeUpdate) -> None: ...
    def on_status(self, session_status: SessionStatus) -> None: ...
    def on_deleted(self) -> None: ...


class Process:
    """A relay with its hub, which counts the news that it receives."""

    def __init__(self) -> None:
        self.relay = Relay()
        self.hub = Hub(self.relay)
        self.received: list[str] = []
        dispatch = self.relay._dispatch

        def count(news: dict[str, Any], sender: str) -> None:
            self.received.append(news["kind"])
            dispatch(news, sender)

        self.relay._dispatch = count  # type: ignore[method-assign]

    def knows(self, count: int) -> bool:
        """Return True when this process has the topics of so many others."""
        return len(self.relay._followers._topics) == count

    def watch(self, session_id: UUID) -> Watcher:
        watcher = Watcher()
        self.hub.watch(session_id, watcher)
        return watcher


@pytest.fixture(autouse=True)
def short_heartbeat(own_layer: None, settings: Settings) -> None:
    """Let processes know each other soon."""
    settings.ADK = {"heartbeat_seconds": HEARTBEAT}


@asynccontextmanager
async def processes(count: int) -> AsyncIterator[list[Process]]:
    """Processes that have joined and know each other."""
    async with AsyncExitStack() as stack:
        joined = [await stack.enter_async_context(_process()) for _ in range(count)]
        for process in joined:
            await until(lambda process=process: process.knows(count - 1))
        yield joined


@asynccontextmanager
async def _process() -> AsyncIterator[Process]:
    process = Process()
    task = asyncio.create_task(process.relay.listen(process.hub))
    await until(lambda: process.relay._knows_followers)
    yield process
    await process.relay.stop()
    await task


async def until(is_so: Any) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.01)


async def commands_of_redis(url: str) -> int:
    redis = Redis.from_url(url)
    try:
        return int((await redis.info("commandstats")).get("cmdstat_publish", {"calls": 0})["calls"])
    finally:
        await redis.aclose()


async def test_only_a_process_that_follows_the_session_receives_its_news() -> None:
    session_id = uuid4()
    async with processes(4) as (sender, follower, *others):
        watcher = follower.watch(session_id)
        await until(lambda: sender.relay.is_followed(session_id))
        sender.relay.send_log_position(session_id, 1)
        sender.hub.publish_text(session_id, StreamKey(1, "e-1", "event", "agent", thought=False), "One")
        assert await asyncio.wait_for(watcher.positions.get(), timeout=5) == 1
        assert "One" in await asyncio.wait_for(watcher.texts.get(), timeout=5)
        assert {kind for other in others for kind in other.received} <= {"follow", "followed"}


@pytest.mark.parametrize("full", [0, 1])
async def test_a_process_that_takes_no_news_keeps_them_from_no_other(
    monkeypatch: pytest.MonkeyPatch, full: int
) -> None:
    session_id = uuid4()
    layer = get_channel_layer()
    send = layer.send
    async with processes(3) as (sender, *followers):
        watchers = [follower.watch(session_id) for follower in followers]
        await until(lambda: len(sender.relay._followers.of(session_topic(session_id))) == len(followers))

        async def refuse(channel: str, message: dict[str, Any]) -> None:
            if channel == followers[full].relay._channel:
                raise ChannelFull
            await send(channel, message)

        monkeypatch.setattr(layer, "send", refuse)
        sender.relay.send_log_position(session_id, 1)
        assert await asyncio.wait_for(watchers[1 - full].positions.get(), timeout=5) == 1
        monkeypatch.undo()
        assert await asyncio.wait_for(watchers[full].positions.get(), timeout=5) == 1


async def test_a_process_that_is_alone_or_that_nobody_follows_publishes_nothing(settings: Settings) -> None:
    session_id = uuid4()
    async with processes(1) as (alone,):
        before = await commands_of_redis(settings.REDIS_URL)
        alone.watch(session_id)
        alone.relay.send_log_position(session_id, 1)
        alone.hub.publish_text(session_id, StreamKey(1, "e-1", "event", "agent", thought=False), "One")
        await alone.relay.flush()
        assert await commands_of_redis(settings.REDIS_URL) == before
    async with processes(12) as (sender, *_):
        settings.ADK = UNHURRIED
        before = await commands_of_redis(settings.REDIS_URL)
        sender.relay.send_log_position(session_id, 1)
        await sender.relay.flush()
        assert await commands_of_redis(settings.REDIS_URL) == before


async def test_one_message_tells_of_all_sessions_that_another_process_follows(settings: Settings) -> None:
    sessions = [uuid4() for _ in range(20)]
    async with processes(2) as (sender, follower):
        watchers = [follower.watch(session_id) for session_id in sessions]
        await until(lambda: all(sender.relay.is_followed(session_id) for session_id in sessions))
        settings.ADK = UNHURRIED
        before = await commands_of_redis(settings.REDIS_URL)
        for session_id in sessions:
            sender.relay.send_log_position(session_id, 1)
        for watcher in watchers:
            await asyncio.wait_for(watcher.positions.get(), timeout=5)
        assert await commands_of_redis(settings.REDIS_URL) == before + 1


async def test_a_process_that_starts_later_learns_who_follows_and_tells_everybody_until_then() -> None:
    session_id = uuid4()
    async with processes(1) as (follower,):
        watcher = follower.watch(session_id)
        late = Process()
        task = asyncio.create_task(late.relay.listen(late.hub))
        late.relay.send_log_position(session_id, 1)
        assert await asyncio.wait_for(watcher.positions.get(), timeout=5) == 1
        # On a busy machine the reply comes later than the end of the time that a process waits for it.
        await until(lambda: late.relay._knows_followers and late.knows(1))
        late.relay.send_log_position(session_id, 2)
        assert await asyncio.wait_for(watcher.positions.get(), timeout=5) == 2
        await late.relay.stop()
        await task


async def test_an_earlier_process_whose_reply_is_late_learns_what_was_followed_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session_id, checked = uuid4(), asyncio.Queue[list[UUID]]()
    replied = asyncio.Event()
    layer = get_channel_layer()
    send = layer.send

    async def send_late(channel: str, message: dict[str, Any]) -> None:
        await replied.wait()
        await send(channel, message)

    async with processes(1) as (earlier,):
        monkeypatch.setattr(layer, "send", send_late)
        async with _process() as follower:
            follower.relay.on_followed = checked.put_nowait
            watcher = follower.watch(session_id)
            assert not follower.knows(1)
            replied.set()
            await until(lambda: earlier.relay.is_followed(session_id))
            assert await asyncio.wait_for(checked.get(), timeout=5) == [session_id]
            earlier.relay.send_log_position(session_id, 1)
            assert await asyncio.wait_for(watcher.positions.get(), timeout=5) == 1


async def test_a_session_that_is_followed_while_another_process_asks_stays_followed() -> None:
    session_id = uuid4()
    async with processes(1) as (follower,):
        dispatch = follower.relay._dispatch

        def follow_when_asked(news: dict[str, Any], sender: str) -> None:
            dispatch(news, sender)
            if news.get("asks"):
                follower.watch(session_id)

        follower.relay._dispatch = follow_when_asked  # type: ignore[method-assign]
        async with _process() as asking:
            await until(lambda: {"follow", "followed"} <= {*asking.received})
            assert asking.relay.is_followed(session_id)


async def test_a_process_that_leaves_a_session_or_ends_receives_no_more() -> None:
    session_id, other_id = uuid4(), uuid4()
    async with processes(2) as (sender, follower):
        watcher = follower.watch(session_id)
        follower.watch(other_id)
        await until(lambda: sender.relay.is_followed(session_id) and sender.relay.is_followed(other_id))
        follower.hub.unwatch(session_id, watcher)
        await until(lambda: not sender.relay.is_followed(session_id))
        assert sender.relay.is_followed(other_id)
        await follower.relay.stop()
        await until(lambda: not sender.relay.is_followed(other_id))
        assert not sender.relay.follows_lists()


async def test_a_new_follower_has_the_session_checked_once_the_others_know_of_it() -> None:
    session_id, checked = uuid4(), asyncio.Queue[list[UUID]]()
    async with processes(2) as (_, follower):
        follower.relay.on_followed = checked.put_nowait
        follower.watch(session_id)
        assert await asyncio.wait_for(checked.get(), timeout=5) == [session_id]
        follower.relay.follow(session_id)  # asks for the text again
        await follower.relay.flush()
        follower.watch(later := uuid4())
        assert await asyncio.wait_for(checked.get(), timeout=5) == [later]


def test_a_silent_process_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    followers = Followers()
    followers.add("silent", ["session:1"])
    monkeypatch.setattr("sessions_app.live.followers.FORGET_SECONDS", -1.0)
    followers.forget_silent()
    assert not followers and not followers.of("session:1")


def test_a_list_replaces_what_was_known_of_a_process() -> None:
    followers = Followers()
    followers.add("other", ["a", "b"])
    assert followers.replace("other", ["b", "c"]) == {"c"}
    assert [bool(followers.of(topic)) for topic in "abc"] == [False, True, True]
