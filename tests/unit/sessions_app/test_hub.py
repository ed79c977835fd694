"""Contract: the text that an invocation streams is told whole by the process that runs it, and by no other."""

from __future__ import annotations

from uuid import UUID, uuid4

from sessions_app.chat.protocol import Notice
from sessions_app.db.event_log import Standing
from sessions_app.live.hub import Hub
from sessions_app.live.streamed_text import Fragment, Speech

SESSION = uuid4()


class Others:
    """The other processes: keeps the text that they are told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, str]] = []

    def event(self, session_id: UUID, seq: int) -> None: ...
    def notice(self, session_id: UUID, notice: Notice) -> None: ...
    def want_text(self, session_id: UUID) -> None: ...

    def fragment(self, session_id: UUID, fragment: Fragment) -> None:
        self.told.append((fragment.offset, fragment.text))


def speech(lease: int = 2, event_id: str = "event", author: str = "agent") -> Speech:
    return Speech(lease, "invocation", event_id, author, thought=False)


OF_A_DEAD_PROCESS = Fragment(speech(lease=1, event_id="older"), 0, "of a dead process")


def say(hub: Hub, text: str) -> None:
    hub.publish_text(SESSION, speech(), text)


def texts(hub: Hub) -> list[str]:
    return [fragment.text for fragment in hub.texts(SESSION)]


async def test_text_that_grows_here_outlives_what_others_believe_of_it() -> None:
    others = Others()
    hub = Hub(others)
    say(hub, "one ")
    hub.receive_fragment(SESSION, Fragment(speech(), 0, "one "))
    hub.receive_fragment(SESSION, OF_A_DEAD_PROCESS)
    say(hub, "two ")
    hub.text_is_wanted(SESSION)
    assert others.told == [(0, "one two ")]


async def test_text_of_another_process_is_not_told_on() -> None:
    others = Others()
    hub = Hub(others)
    hub.watch(SESSION, NoOne())
    hub.receive_fragment(SESSION, Fragment(speech(), 0, "one "))
    assert texts(hub) == ["one "]
    hub.text_is_wanted(SESSION)
    assert others.told == []


async def test_what_a_dead_process_said_is_void_when_this_one_begins_anew() -> None:
    hub = Hub(Others())
    hub.watch(SESSION, NoOne())
    hub.receive_fragment(SESSION, OF_A_DEAD_PROCESS)
    say(hub, "anew")
    assert texts(hub) == ["anew"]


async def test_what_this_process_said_is_void_when_another_has_taken_over() -> None:
    hub = Hub(Others())
    hub.watch(SESSION, NoOne())
    say(hub, "before it stood still")
    hub.receive_fragment(SESSION, Fragment(speech(lease=3, event_id="newer", author="specialist"), 0, "anew"))
    assert texts(hub) == ["anew"]


async def test_text_of_a_dead_process_is_void_when_postgresql_says_that_another_has_the_session() -> None:
    hub = Hub(Others())
    hub.watch(SESSION, NoOne())
    hub.receive_fragment(SESSION, OF_A_DEAD_PROCESS)
    hub.standing(SESSION, Standing(1, 1, ("invocation", "running"), frozenset({"invocation"})))
    assert texts(hub) == ["of a dead process"]
    hub.standing(SESSION, Standing(1, 2, ("invocation", "running"), frozenset({"invocation"})))
    assert texts(hub) == []


class NoOne:
    """Watches, and does nothing with it."""

    def event(self, news: object) -> None: ...
    def hint(self, seq: int) -> None: ...
    def fragment(self, frame: str) -> None: ...
    def notice(self, notice: Notice, frame: str) -> None: ...
    def standing(self, standing: object) -> None: ...
    def gone(self) -> None: ...
