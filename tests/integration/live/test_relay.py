"""Relay: news between processes over Redis, gathered into few messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from channels.layers import get_channel_layer
from pytest_django import Settings

from sessions_app.live import relay
from sessions_app.live.hub import Hub
from sessions_app.live.notices import InvocationNotice, Notice, job_notice, schedule_notice
from sessions_app.live.process import close_live, live
from sessions_app.live.relay import GROUP, Relay
from sessions_app.live.streamed_text import StreamKey
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate
from sessions_app.models import ScheduledTask, ToolJob
from sessions_app.store.sql.event_log import SessionStatus

pytestmark = pytest.mark.usefixtures("own_layer")
AN_HOUR = 3_600.0
NOTICES: list[Notice] = [
    InvocationNotice("e-1", "m1", "failed", "It broke."),
    job_notice(
        ToolJob(
            call_id="c1",
            tool_name="count",
            status="running",
            progress_message="half",
            question={"kind": "confirm"},
            artifacts={"a.csv": 1},
            started_at=datetime(2040, 1, 1, 9, tzinfo=UTC),
        )
    ),
    schedule_notice(ScheduledTask(pk=1, task="Look", next_at=datetime(2040, 1, 1, 9, tzinfo=UTC))),
]


class Reader:
    """A watcher that keeps the text frames."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[str] = asyncio.Queue()

    def on_text(self, update: TextUpdate) -> None:
        self.frames.put_nowait(update.chunk.text)

    def on_event(self, update: EventUpdate) -> None: ...

    def on_log_position(self, seq: int) -> None: ...

    def on_notice(self, update: NoticeUpdate) -> None: ...

    def on_status(self, session_status: SessionStatus) -> None: ...

    def on_deleted(self) -> None: ...


class Listener(Hub):
    """The hub of another process, which keeps the log positions and notices that it receives."""

    def __init__(self) -> None:
        super().__init__(Relay())
        self.positions: asyncio.Queue[tuple[UUID, int]] = asyncio.Queue()
        self.notices: asyncio.Queue[tuple[UUID, Notice]] = asyncio.Queue()

    def receive_log_position(self, session_id: UUID, seq: int) -> None:
        self.positions.put_nowait((session_id, seq))

    def receive_notice(self, session_id: UUID, notice: Notice) -> None:
        self.notices.put_nowait((session_id, notice))


@pytest.fixture
def relay_once_an_hour(settings: Settings) -> None:
    settings.ADK = {"relay_seconds": AN_HOUR}


@asynccontextmanager
async def listening(of: Relay, hub: Hub) -> AsyncIterator[None]:
    """Let the relay join the group and pass news to the hub, until the block ends."""
    task = asyncio.create_task(of.listen(hub))
    await of._has_joined.wait()
    yield
    await of.stop()
    await task


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    """A hub whose relay has joined the group."""
    hub = Listener()
    async with listening(Relay(), hub):
        yield hub


async def test_the_first_news_after_a_silence_leave_at_once_and_later_news_are_gathered(
    relay_once_an_hour: None, listener: Listener
) -> None:
    sender, session_id = Relay(), uuid4()
    sender.send_log_position(session_id, 1)
    assert await asyncio.wait_for(listener.positions.get(), timeout=5) == (session_id, 1)
    sender.send_log_position(session_id, 2)
    sender.send_log_position(session_id, 3)
    assert listener.positions.empty()
    assert sender._sending is not None
    sender._sending.cancel()


async def test_news_of_one_moment_are_sent_in_one_message(listener: Listener) -> None:
    sender, session_id = Relay(), uuid4()
    for seq in (1, 2, 3):
        sender.send_log_position(session_id, seq)
    await listener.positions.get()
    assert listener.positions.qsize() == 2


async def test_a_watcher_gets_text_that_was_sent_before_its_process_joined() -> None:
    session_id, reader, sending, receiving = uuid4(), Reader(), Relay(), Relay()
    local, remote = Hub(sending), Hub(receiving)
    remote.watch(session_id, reader)
    async with listening(sending, local):
        local.publish_text(session_id, StreamKey(1, "e-1", "event", "agent", thought=False), "It takes ")
        async with listening(receiving, remote):
            assert "It takes " in await asyncio.wait_for(reader.frames.get(), timeout=5)


async def test_news_that_a_process_does_not_know_keep_back_no_others(listener: Listener) -> None:
    session_id = uuid4()
    unknown = {"kind": "notice", "session": str(session_id), "notice": {"kind": "later", "fields": {}}}
    old_fields = {
        "kind": "notice",
        "session": str(session_id),
        "notice": {"kind": "job", "fields": {"html": ""}},
    }
    known = {"kind": "event", "session": str(session_id), "seq": 7}
    message = {"type": "adk.live", "from": "another", "news": [unknown, old_fields, known]}
    await get_channel_layer().group_send(GROUP, message)
    assert await asyncio.wait_for(listener.positions.get(), timeout=10) == (session_id, 7)


@pytest.mark.parametrize("notice", NOTICES, ids=lambda notice: notice.type)
async def test_a_notice_arrives_as_it_was_sent(listener: Listener, notice: Notice) -> None:
    session_id = uuid4()
    Relay().send_notice(session_id, notice)
    assert await asyncio.wait_for(listener.notices.get(), timeout=5) == (session_id, notice)


class DeafLayer:
    """Channel layer that does not answer, and whose `receive` loses the first cancellation."""

    async def new_channel(self, prefix: str) -> str:
        return f"{prefix}!1"

    async def group_add(self, group: str, channel: str) -> None: ...

    async def group_discard(self, group: str, channel: str) -> None:
        raise ConnectionError("Redis is away")

    async def receive(self, channel: str) -> None:
        forever = asyncio.Event()
        with suppress(asyncio.CancelledError):
            await forever.wait()
        await forever.wait()

    async def group_send(self, group: str, message: Any) -> None:
        await self.receive(group)


async def test_closing_ends_a_listener_that_loses_a_cancellation(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.ADK = {"heartbeat_seconds": 0.2}
    monkeypatch.setattr(relay, "get_channel_layer", DeafLayer)
    tasks = live().tasks
    await live().relay._has_joined.wait()
    await asyncio.wait_for(close_live(), timeout=20)
    assert all(task.done() for task in tasks)


async def test_closing_ends_a_sender_that_loses_a_cancellation(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.ADK = {"heartbeat_seconds": 0.2}
    monkeypatch.setattr(relay, "get_channel_layer", DeafLayer)
    closing = live().relay
    closing.send_log_position(uuid4(), 1)
    await closing._has_joined.wait()
    await asyncio.wait_for(close_live(), timeout=20)
    assert closing.sending is not None and closing.sending.done()


async def test_news_after_the_end_leave_no_task_that_nobody_ends() -> None:
    closing = live().relay
    await close_live()
    closing.send_log_position(uuid4(), 1)
    assert "relay: send" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_a_process_that_starts_while_redis_is_away_listens_once_it_is_back(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.ADK = {"heartbeat_seconds": 0.1}
    layer = get_channel_layer()
    refusals = [ConnectionError("Redis is away")]
    new_channel = layer.new_channel

    async def refuse_once(prefix: str) -> str:
        if refusals:
            raise refusals.pop()
        return str(await new_channel(prefix))

    monkeypatch.setattr(layer, "new_channel", refuse_once)
    hub, session_id = Listener(), uuid4()
    async with listening(Relay(), hub):
        Relay().send_log_position(session_id, 1)
        assert await asyncio.wait_for(hub.positions.get(), timeout=5) == (session_id, 1)
    assert not refusals
