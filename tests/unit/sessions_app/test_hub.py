"""Contract: the text that an invocation streams is told whole by the process that runs it, and by no other."""

from __future__ import annotations

from uuid import UUID, uuid4

from sessions_app.db.event_log import SessionStatus
from sessions_app.live.frames import Notice
from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import StreamKey, TextChunk

SESSION = uuid4()


class Others:
    """The other processes: keeps the text that they are told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, str]] = []

    def send_log_position(self, session_id: UUID, seq: int) -> None: ...
    def send_notice(self, session_id: UUID, notice: Notice) -> None: ...
    def request_text(self, session_id: UUID) -> None: ...

    def send_text(self, session_id: UUID, chunk: TextChunk) -> None:
        self.told.append((chunk.offset, chunk.text))


def stream(lease: int = 2, event_id: str = "event", author: str = "agent") -> StreamKey:
    return StreamKey(lease, "invocation", event_id, author, thought=False)


OF_A_DEAD_PROCESS = TextChunk(stream(lease=1, event_id="older"), 0, "of a dead process")


def say(hub: Hub, text: str) -> None:
    hub.publish_text(SESSION, stream(), text)


def texts(hub: Hub) -> list[str]:
    return [chunk.text for chunk in hub.texts(SESSION)]


async def test_text_that_grows_here_outlives_what_others_believe_of_it() -> None:
    others = Others()
    hub = Hub(others)
    say(hub, "one ")
    hub.receive_text(SESSION, TextChunk(stream(), 0, "one "))
    hub.receive_text(SESSION, OF_A_DEAD_PROCESS)
    say(hub, "two ")
    hub.receive_text_request(SESSION)
    assert others.told == [(0, "one two ")]


async def test_text_of_another_process_is_not_told_on() -> None:
    others = Others()
    hub = Hub(others)
    hub.watch(SESSION, NoOne())
    hub.receive_text(SESSION, TextChunk(stream(), 0, "one "))
    assert texts(hub) == ["one "]
    hub.receive_text_request(SESSION)
    assert others.told == []


async def test_what_a_dead_process_said_is_void_when_this_one_begins_anew() -> None:
    hub = Hub(Others())
    hub.watch(SESSION, NoOne())
    hub.receive_text(SESSION, OF_A_DEAD_PROCESS)
    say(hub, "anew")
    assert texts(hub) == ["anew"]


async def test_what_this_process_said_is_void_when_another_has_taken_over() -> None:
    hub = Hub(Others())
    hub.watch(SESSION, NoOne())
    say(hub, "before it stood still")
    hub.receive_text(SESSION, TextChunk(stream(lease=3, event_id="newer", author="specialist"), 0, "anew"))
    assert texts(hub) == ["anew"]


async def test_text_of_a_dead_process_is_void_when_postgresql_says_that_another_has_the_session() -> None:
    hub = Hub(Others())
    hub.watch(SESSION, NoOne())
    hub.receive_text(SESSION, OF_A_DEAD_PROCESS)
    hub.receive_status(SESSION, SessionStatus(1, 1, ("invocation", "running"), frozenset({"invocation"})))
    assert texts(hub) == ["of a dead process"]
    hub.receive_status(SESSION, SessionStatus(1, 2, ("invocation", "running"), frozenset({"invocation"})))
    assert texts(hub) == []


class NoOne:
    """Watches, and does nothing with it."""

    def on_event(self, seq: int, frame: str) -> None: ...
    def on_log_position(self, seq: int) -> None: ...
    def on_text(self, frame: str) -> None: ...
    def on_notice(self, notice: Notice, frame: str) -> None: ...
    def on_status(self, session_status: object) -> None: ...
    def on_deleted(self) -> None: ...
