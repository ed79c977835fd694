"""Contract: the process that runs an invocation, and no other, publishes its whole streamed text."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock
from uuid import UUID, uuid4

from sessions_app.live.hub import Hub
from sessions_app.live.notices import Notice
from sessions_app.live.streamed_text import StreamKey, TextChunk
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate
from sessions_app.store.sql.event_log import SessionStatus

SESSION = uuid4()


class OtherProcesses:
    """Relay that records the text chunks for other processes."""

    def __init__(self) -> None:
        self.chunks: list[tuple[int, str]] = []
        self.sent = asyncio.Event()

    def send_log_position(self, session_id: UUID, seq: int) -> None: ...
    def send_notice(self, session_id: UUID, notice: Notice) -> None: ...
    def follow(self, session_id: UUID) -> None: ...
    def unfollow(self, session_id: UUID) -> None: ...
    def is_followed(self, session_id: UUID) -> bool:
        return True

    def send_text(self, session_id: UUID, chunk: TextChunk) -> None:
        self.chunks.append((chunk.offset, chunk.text))
        self.sent.set()


def stream(lease: int = 2, event_id: str = "event", author: str = "agent") -> StreamKey:
    return StreamKey(lease, "invocation", event_id, author, thought=False)


OF_A_DEAD_PROCESS = TextChunk(stream(lease=1, event_id="older"), 0, "of a dead process")


def say(hub: Hub, text: str) -> None:
    hub.publish_text(SESSION, stream(), text)


def texts(hub: Hub) -> list[str]:
    return [chunk.text for chunk in hub.texts(SESSION)]


async def test_text_of_this_process_survives_chunks_from_other_processes() -> None:
    others = OtherProcesses()
    hub = Hub(others)
    say(hub, "one ")
    hub.receive_text(SESSION, TextChunk(stream(), 0, "one "))
    hub.receive_text(SESSION, OF_A_DEAD_PROCESS)
    say(hub, "two ")
    hub.receive_follower(SESSION)
    assert others.chunks == [(0, "one "), (0, "one two ")]


async def test_the_first_piece_of_a_text_goes_out_immediately_and_the_others_together() -> None:
    others = OtherProcesses()
    hub = Hub(others)
    for text in ("one ", "two ", "three "):
        say(hub, text)
    assert others.chunks == [(0, "one ")]
    others.sent.clear()
    await others.sent.wait()
    assert others.chunks[1:] == [(4, "two three ")]


async def test_text_of_another_process_is_not_published() -> None:
    others = OtherProcesses()
    hub = Hub(others)
    hub.watch(SESSION, SilentWatcher())
    hub.receive_text(SESSION, TextChunk(stream(), 0, "one "))
    assert texts(hub) == ["one "]
    hub.receive_follower(SESSION)
    assert others.chunks == []


async def test_text_of_a_dead_process_is_void_when_this_one_resumes() -> None:
    hub = Hub(OtherProcesses())
    hub.watch(SESSION, SilentWatcher())
    hub.receive_text(SESSION, OF_A_DEAD_PROCESS)
    say(hub, "anew")
    assert texts(hub) == ["anew"]


async def test_text_of_this_process_is_void_when_another_has_taken_over() -> None:
    hub = Hub(OtherProcesses())
    hub.watch(SESSION, SilentWatcher())
    say(hub, "before it stood still")
    hub.receive_text(SESSION, TextChunk(stream(lease=3, event_id="newer", author="specialist"), 0, "anew"))
    assert texts(hub) == ["anew"]


async def test_text_of_a_dead_process_is_void_when_postgresql_has_a_newer_lease() -> None:
    hub = Hub(OtherProcesses())
    hub.watch(SESSION, SilentWatcher())
    hub.receive_text(SESSION, OF_A_DEAD_PROCESS)
    hub.drop_ended_text(
        SESSION, set(), SessionStatus("help_desk", 1, 1, ("invocation", "running"), frozenset({"invocation"}))
    )
    assert texts(hub) == ["of a dead process"]
    hub.drop_ended_text(
        SESSION, set(), SessionStatus("help_desk", 1, 2, ("invocation", "running"), frozenset({"invocation"}))
    )
    assert texts(hub) == []


class SilentWatcher:
    """Watcher that ignores everything."""

    def on_event(self, update: EventUpdate) -> None: ...
    def on_log_position(self, seq: int) -> None: ...
    def on_text(self, update: TextUpdate) -> None: ...
    def on_notice(self, update: NoticeUpdate) -> None: ...
    def on_status(self, session_status: object) -> None: ...
    def on_deleted(self) -> None: ...


async def test_text_whose_whole_was_sent_between_two_flushes_goes_on() -> None:
    """The whole text has pieces that no flush has sent yet, and the next flush sends these again."""
    others, receiving = Mock(), Hub(Mock())
    sending = Hub(others)
    receiving.watch(SESSION, Mock())
    for text in ("One 🌱 ", "two 🌿 ", "three 🌳"):
        say(sending, text)
        if text != "three 🌳":
            sending.receive_follower(SESSION)
        if text != "two 🌿 ":
            sending._flush()
    for sent in others.send_text.call_args_list:
        receiving.receive_text(*sent.args)
    assert texts(receiving) == ["One 🌱 two 🌿 three 🌳"]
