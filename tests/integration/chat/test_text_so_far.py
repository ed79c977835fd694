"""Contract: a tab gets a growing answer from its beginning in pieces, no faster than its browser reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.chat.protocol import CLOSE_NOT_SIGNED_IN
from sessions_app.chat.viewer import SessionViewer
from sessions_app.invocations.worker import worker
from sessions_app.live.session_feed import PIECE_CHARACTERS
from sessions_app.models import Session
from tests.fakes import StreamingModel
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("own_layer", "loop_end")
SO_FAR = "**One** 🙂 paragraph\n\n" + "🙂 x" * 200_000
END = "\n\nthe end"


class GatedModel(StreamingModel):
    """Streams `SO_FAR`, and the end when the test allows it."""

    model: str = "gated"
    has_begun: asyncio.Event
    may_end: asyncio.Event

    async def words(self) -> AsyncGenerator[str, None]:
        yield SO_FAR
        self.has_begun.set()
        await self.may_end.wait()
        yield END


class Browser:
    """A tab whose browser reads while `has_room` is set. `frames` are those that it has read."""

    def __init__(self, person: User, session: Session) -> None:
        self.has_room = asyncio.Event()
        self.has_room.set()
        self.frames: list[dict[str, Any]] = []
        self.viewer = SessionViewer(session.pk, person, self)
        self._has_read = asyncio.Condition()
        self._stalls_after = 0

    async def send(self, frame: str) -> None:
        if len(self.frames) == self._stalls_after > 0:
            self.has_room.clear()
            self._stalls_after = 0
        await self.has_room.wait()
        async with self._has_read:
            self.frames.append(json.loads(frame))
            self._has_read.notify_all()

    async def close(self, code: int) -> None:
        raise AssertionError(f"The socket was closed with {code}.")

    def of_type(self, wanted: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames if frame["type"] == wanted]

    def text(self) -> str:
        """Return the streamed text that the page shows since the last greeting."""
        text = b""
        for frame in self.frames:
            if frame["type"] == "ready":
                text = b""
            elif frame["type"] == "partial":
                assert 2 * frame["offset"] <= len(text), "text is missing"
                text = text[: 2 * frame["offset"]] + frame["text"].encode("utf-16-le")
        return text.decode("utf-16-le")

    async def open_and_stall(self) -> None:
        """Greet the tab, whose browser stops in the middle of the text; return when the viewer waits for it."""
        self._stalls_after = 10
        await self.viewer.on_hello(0)
        while self.has_room.is_set():
            await asyncio.sleep(0)

    async def read_text(self, text: str) -> None:
        async with asyncio.timeout(20), self._has_read:
            await self._has_read.wait_for(lambda: self.text() == text)

    async def read_events(self, seq: int) -> None:
        async with asyncio.timeout(20), self._has_read:
            await self._has_read.wait_for(lambda: any(frame["seq"] == seq for frame in self.of_type("event")))


class ClosedBrowser(Browser):
    """A tab whose socket is closed with `codes`."""

    def __init__(self, person: User, session: Session) -> None:
        super().__init__(person, session)
        self.codes: list[int] = []

    async def close(self, code: int) -> None:
        self.codes.append(code)


@pytest.fixture
async def model() -> GatedModel:
    return GatedModel(has_begun=asyncio.Event(), may_end=asyncio.Event())


@pytest.fixture
async def session(person: User, model: GatedModel, served: Served) -> AsyncIterator[Session]:
    """A session with a tab and with an answer that has grown to `SO_FAR`."""
    app = App(name="gated", root_agent=LlmAgent(name="gated", model=model))
    served(app)
    session = await use_cases.create_session(person, "gated")
    first = Browser(person, session)
    await first.viewer.on_hello(0)
    await use_cases.send_message(actors.person(person), session.id, "m1", "go")
    await model.has_begun.wait()
    yield session
    model.may_end.set()
    await worker().wait_until_idle()
    first.viewer.sender.leave()


async def test_a_tab_that_opens_during_an_answer_gets_it_in_pieces_and_then_goes_on(
    person: User, session: Session, model: GatedModel
) -> None:
    tab = Browser(person, session)
    await tab.viewer.on_hello(0)
    await tab.read_text(SO_FAR)
    pieces = tab.of_type("partial")
    assert len(pieces) > len(SO_FAR) // PIECE_CHARACTERS
    assert all(len(piece["text"]) <= PIECE_CHARACTERS for piece in pieces)
    drawn = [piece["drawn"] for piece in pieces if piece.get("drawn")]
    assert [(text["start"], "<strong>One</strong>" in text["html"]) for text in drawn] == [(0, True)]
    model.may_end.set()
    await tab.read_events(2)
    assert tab.of_type("event")[-1]["event"]["content"]["parts"][0]["text"] == SO_FAR + END
    assert tab.of_type("ready") == tab.frames[:1]
    tab.viewer.sender.leave()


async def test_a_tab_whose_browser_stalls_during_the_text_so_far_holds_a_part_of_it_and_later_gets_all(
    person: User, session: Session, model: GatedModel
) -> None:
    tab = Browser(person, session)
    await tab.open_and_stall()
    assert len(tab.of_type("partial")) < 10
    assert tab.viewer._feed._buffered_characters == 0
    tab.has_room.set()
    await tab.read_text(SO_FAR)

    model.may_end.set()
    await tab.read_events(2)
    tab.viewer.sender.leave()


async def test_the_rest_of_a_text_is_not_sent_after_its_event(
    person: User, session: Session, model: GatedModel
) -> None:
    tab = Browser(person, session)
    await tab.open_and_stall()
    model.may_end.set()
    await worker().wait_until_idle()
    tab.has_room.set()
    await tab.read_events(2)
    assert tab.frames[-1]["type"] != "partial"
    assert SO_FAR.startswith(tab.text()) and tab.text() != SO_FAR
    tab.viewer.sender.leave()


async def test_a_tab_that_is_closed_while_its_browser_stalls_gets_no_more_of_the_text(
    person: User, session: Session
) -> None:
    tab = ClosedBrowser(person, session)
    await tab.open_and_stall()
    tab.viewer.sender.on_signed_out()
    await asyncio.wait(tab.viewer.sender._tasks)
    assert tab.codes == [CLOSE_NOT_SIGNED_IN]
