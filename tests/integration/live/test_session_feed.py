"""Contract: a feed returns each event once and in order, text without gaps, and notices behind the status."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from pytest_django import Settings

from runtime.agents import LlmAgent
from sessions_app import use_cases
from sessions_app.live import session_feed
from sessions_app.live.notices import InvocationNotice
from sessions_app.live.process import live
from sessions_app.live.session_feed import SessionFeed
from sessions_app.live.streamed_text import StreamKey, TextChunk
from sessions_app.live.updates import EndUpdate, EventUpdate, NoticeUpdate, StatusUpdate, TextUpdate, Update
from sessions_app.models import Event, Invocation, InvocationStatus, Session
from sessions_app.store.sql import event_log
from sessions_app.store.sql.event_log import SessionStatus
from tests.fakes import ScriptedModel
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "ticks_of_test")
AN_HOUR = 3_600.0
STREAM = StreamKey(1, "e-1", "growing", "echo", thought=False)


@pytest.fixture
async def ticks_of_test(settings: Settings) -> None:
    """Let feeds get statuses and gathered text only when the test says so: the clock would come between."""
    settings.ADK = {**settings.ADK, "heartbeat_seconds": AN_HOUR, "merge_seconds": AN_HOUR}
    live().relay.on_followed = None


@pytest.fixture
async def session(person: User, served: Served) -> Session:
    served(LlmAgent(name="echo", model=ScriptedModel(rule=lambda request: "hi")))
    return await use_cases.create_session(person, "echo")


@pytest.fixture
async def feed(session: Session) -> AsyncIterator[SessionFeed]:
    feed = SessionFeed(session.pk, session.user_id)
    yield feed
    feed.leave()


async def store(session: Session, *seqs: int) -> None:
    """Store events as another process does."""
    for seq in seqs:
        body = {"id": f"event-{seq}", "author": "echo", "invocationId": "e-1", "actions": {}}
        await sync_to_async(Event.objects.create)(session=session, seq=seq, body=body)
    await Session.objects.filter(pk=session.pk).aupdate(last_seq=seqs[-1])


async def take_all(feed: SessionFeed) -> list[Update]:
    updates: list[Update] = []
    while (update := await feed.take()) is not None:
        updates.append(update)
    return updates


def seqs(updates: list[Update]) -> list[int]:
    return [update.seq for update in updates if isinstance(update, EventUpdate)]


def text(updates: list[Update]) -> str:
    return "".join(update.chunk.text for update in updates if isinstance(update, TextUpdate))


def publish(session: Session, status: str) -> None:
    live().hub.publish_notice(session.pk, InvocationNotice("e-1", "m-1", status))


async def test_the_reader_of_a_full_buffer_gets_the_status_and_every_event_once(
    session: Session, feed: SessionFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_feed, "MAX_BUFFERED_CHARACTERS", 600)
    await take_all(feed)
    await store(session, 1, 2, 3)
    for seq in (1, 2, 3):
        live().hub.receive_log_position(session.pk, seq)
    for _ in range(10):
        publish(session, "running")
    assert feed.is_full
    updates = await take_all(feed)
    assert not feed.is_full
    assert seqs(updates) == [1, 2, 3]
    assert sum(isinstance(update, StatusUpdate) for update in updates) == 1
    assert len(updates) < 8


async def test_a_notice_that_comes_while_the_status_is_read_follows_the_events(
    session: Session, feed: SessionFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(session, 1, 2)
    read = event_log.session_status

    async def read_slowly(session_id: UUID, user_id: int) -> SessionStatus | None:
        status = await read(session_id, user_id)
        publish(session, "completed")
        return status

    monkeypatch.setattr(event_log, "session_status", read_slowly)
    kinds = [type(update) for update in await take_all(feed)]
    assert kinds == [StatusUpdate, EventUpdate, EventUpdate, NoticeUpdate]


async def test_a_lost_end_of_work_that_began_while_the_status_was_read_is_found(
    session: Session, feed: SessionFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the reader would take the session for busy until its next connection."""
    read = event_log.session_status

    async def read_slowly(session_id: UUID, user_id: int) -> SessionStatus | None:
        publish(session, "running")
        return await read(session_id, user_id)

    with monkeypatch.context() as patched:
        patched.setattr(event_log, "session_status", read_slowly)
        kinds = [type(update) for update in await take_all(feed)]
    assert kinds == [StatusUpdate, NoticeUpdate]
    idle = await read(session.pk, session.user_id)
    assert idle is not None and not idle.active
    for _ in range(2):
        live().hub.receive_status(session.pk, idle)
    assert [type(update) for update in await take_all(feed)] == [StatusUpdate]


async def test_the_end_of_an_invocation_in_another_process_follows_its_events(
    session: Session, feed: SessionFeed
) -> None:
    await take_all(feed)
    await store(session, 1, 2)
    live().hub.receive_log_position(session.pk, 2)
    live().hub.receive_notice(session.pk, InvocationNotice("e-1", "m-1", "completed"))
    kinds = [type(update) for update in await take_all(feed)]
    assert kinds == [EventUpdate, EventUpdate, NoticeUpdate]


async def test_a_notice_on_its_way_is_not_taken_as_lost_after_two_idle_statuses(
    session: Session, feed: SessionFeed
) -> None:
    """A turn has begun and ended between the two ticks. Readers wait for the notice of its end."""

    async def tick() -> None:
        status = await event_log.session_status(session.pk, session.user_id)
        assert status is not None and not status.active
        live().hub.receive_status(session.pk, status)

    await take_all(feed)
    await tick()
    publish(session, "running")
    await store(session, 1, 2)
    live().hub.receive_log_position(session.pk, 2)
    await take_all(feed)
    await tick()
    publish(session, "completed")
    assert [type(update) for update in await take_all(feed)] == [NoticeUpdate]


async def test_work_that_a_status_has_seen_without_a_notice_is_lost_also_when_it_has_ended_since(
    session: Session, feed: SessionFeed
) -> None:
    """Notices of later work do not hide that: the reader may know from elsewhere that the work has begun."""
    await take_all(feed)
    idle = await event_log.session_status(session.pk, session.user_id)
    assert idle is not None
    running = replace(idle, active=frozenset({"e-1"}))
    hub = live().hub
    hub.receive_status(session.pk, running)
    publish(session, "running")
    publish(session, "completed")
    hub.receive_status(session.pk, idle)
    assert [type(update) for update in await take_all(feed)] == [NoticeUpdate, NoticeUpdate]
    hub.receive_status(session.pk, running)
    hub.publish_notice(session.pk, InvocationNotice("e-2", "m-2", "completed"))
    hub.receive_status(session.pk, idle)
    assert [type(update) for update in await take_all(feed)] == [NoticeUpdate, StatusUpdate]


async def test_work_whose_events_were_read_without_a_notice_is_lost_also_when_later_work_has_notices(
    session: Session, feed: SessionFeed
) -> None:
    async def tick() -> list[type[Update]]:
        status = await event_log.session_status(session.pk, session.user_id)
        assert status is not None
        live().hub.receive_status(session.pk, status)
        return [type(update) for update in await take_all(feed)]

    await take_all(feed)
    await store(session, 1, 2)
    live().hub.receive_log_position(session.pk, 2)
    live().hub.publish_notice(session.pk, InvocationNotice("e-2", "m-2", "running"))
    live().hub.publish_notice(session.pk, InvocationNotice("e-2", "m-2", "completed"))
    await take_all(feed)
    assert await tick() == []
    assert await tick() == [StatusUpdate]
    assert [await tick() for _ in range(3)] == [[], [], []]


async def test_text_that_another_process_sends_again_is_returned_once(
    session: Session, feed: SessionFeed
) -> None:
    hub = live().hub
    await take_all(feed)
    hub.receive_text(session.pk, TextChunk(STREAM, 0, "one 🙂 "))
    seen = await take_all(feed)
    hub.drop_text(session.pk, "e-1")
    hub.receive_text(session.pk, TextChunk(STREAM, 0, "one 🙂 two"))
    seen += await take_all(feed)
    assert text(seen) == "one 🙂 two"


async def test_text_that_grows_while_a_reader_catches_up_continues_without_repetition(
    session: Session, feed: SessionFeed
) -> None:
    hub = live().hub
    await Invocation.objects.acreate(
        session=session, invocation_id="e-1", client_id="m-1", message={}, status=InvocationStatus.RUNNING
    )
    hub.publish_text(session.pk, STREAM, "one ")
    hub.publish_text(session.pk, STREAM, "two ")  # waits for the next flush
    assert text(await take_all(feed)) == "one "
    hub._flush()
    assert text(await take_all(feed)) == "two "


async def test_a_feed_ends_once_and_drops_what_is_buffered(session: Session, feed: SessionFeed) -> None:
    await take_all(feed)
    publish(session, "running")
    feed.end("signed_out")
    assert [update async for update in feed] == [EndUpdate("signed_out")]
    assert live().hub.watchers(session.pk) == ()
