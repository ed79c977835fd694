"""Contract: the chat without websocket. Frames come as server-sent events and go by HTTP, within the same limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as site
from django.contrib.auth.models import User
from django.test import AsyncClient

from adk_site.asgi import application
from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.chat import event_stream
from sessions_app.models import Artifact, Event, Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.integration.stream_tab import StreamTab, open_stream
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "servers")
Configure = Callable[..., None]


@pytest.fixture(autouse=True)
def app(served: Served) -> None:
    """An app whose agent says "one two three"."""
    model = ScriptedModel(rule=lambda request: "one two three")
    served(App(name="echo", root_agent=LlmAgent(name="echo", model=model)))


@pytest.fixture
async def session(person: User) -> Session:
    return await use_cases.create_session(person, "echo")


async def test_an_answer_comes_as_text_then_as_events_and_ends(
    browser: AsyncClient, session: Session
) -> None:
    async with open_stream(browser, session.pk) as tab:
        assert tab.status == 200
        assert tab.headers[b"content-type"] == b"text/event-stream"
        assert tab.headers[b"cache-control"] == b"no-store"
        assert tab.headers[b"x-accel-buffering"] == b"no"
        ready = await tab.receive()
        assert (ready["type"], ready["seq"], ready["invocation"]) == ("ready", 0, None)
        response = await tab.post(type="message", id="m1", text="hi")
        reply = json.loads(response.content)
        assert (response.status_code, reply["type"], reply["client_id"]) == (200, "invocation", "m1")
        received = [await tab.receive()]
        while received[-1].get("status") != "completed":
            received.append(await tab.receive())
    events = [frame for frame in received if frame["type"] == "event"]
    assert [(frame["seq"], frame["event"]["author"]) for frame in events] == [(1, "user"), (2, "echo")]
    assert events[1]["event"] == (await Event.objects.aget(session=session, seq=2)).body


async def test_a_large_frame_is_sent_in_pieces_each_of_which_waits_for_room(
    browser: AsyncClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "PIECE_CHARACTERS", 100)
    async with open_stream(browser, session.pk) as tab:
        await tab.post(type="message", id="m1", text="größer \u202e " * 100)
        text = ""
        while '"status": "completed"' not in text:
            piece = await tab.text()
            assert len(piece) <= 100 + len("data: \n\n")
            text += piece
    frames_sent = [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n")[:-1]]
    assert {"ready", "event", "invocation"} <= {frame["type"] for frame in frames_sent}


async def test_a_stream_that_ends_within_a_frame_still_tells_its_close_code(
    browser: AsyncClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "PIECE_CHARACTERS", 20)
    bodies, is_stalled, gone = [], asyncio.Event(), asyncio.Event()

    async def receive() -> Any:
        await gone.wait()

    async def send(message: Any) -> None:
        bodies.append(message.get("body", b""))
        if len(bodies) == 4:  # within the first frame
            is_stalled.set()
            await asyncio.Event().wait()

    tab = StreamTab(browser, session.pk)
    stream = asyncio.create_task(application(tab.stream.scope, receive, send))
    await is_stalled.wait()
    await browser.post(f"/chat/{session.pk}/delete/")
    await stream
    assert bodies[-1].startswith(b"\nevent: cut\n\nevent: close\ndata: 4404\n\n")


async def test_a_stream_goes_on_after_the_last_event_of_the_page(
    browser: AsyncClient, session: Session
) -> None:
    async with open_stream(browser, session.pk) as tab:
        for number in range(3):
            await tab.post(type="message", id=f"m{number}", text="hi\nthere")
            await tab.receive("event", seq=2 * number + 2)
    async with open_stream(browser, session.pk, "after=2") as tab:
        assert (await tab.receive("ready"))["seq"] == 6
        assert [(await tab.receive("event"))["seq"] for _ in range(4)] == [3, 4, 5, 6]


@pytest.mark.parametrize("after", ["-1", "x", "9" * 5000, "%00", "1.5", "٣"])
async def test_an_odd_number_of_the_last_event_begins_at_the_first(
    browser: AsyncClient, session: Session, after: str
) -> None:
    async with open_stream(browser, session.pk, f"after={after}") as tab:
        if after == "%00":
            assert tab.status == 403
        else:
            assert (await tab.receive("ready"))["seq"] == 0


async def test_the_first_message_creates_the_session_in_each_tab_that_expects_it(
    browser: AsyncClient,
) -> None:
    session_id = uuid4()
    async with (
        open_stream(browser, session_id, "new=echo") as tab,
        open_stream(browser, session_id, "new=echo") as other,
    ):
        for each in (tab, other):
            assert (await each.receive("ready"))["seq"] == 0
        assert not await Session.objects.filter(pk=session_id).aexists()
        assert (await tab.post(type="message", id="m1", text="hi")).status_code == 200
        for each in (tab, other):
            await each.receive("event", seq=2)
    assert await Invocation.objects.filter(session_id=session_id).acount() == 1


async def test_a_refused_first_message_creates_no_session(browser: AsyncClient) -> None:
    session_id = uuid4()
    tab = StreamTab(browser, session_id, "new=echo")
    response = await tab.post(type="message", id="m1", text=" ")
    refusal = json.loads(response.content)
    assert (response.status_code, refusal["type"], refusal["in_reply_to"]) == (400, "error", "m1")
    assert not await Session.objects.filter(pk=session_id).aexists()


async def test_a_message_sent_twice_starts_one_invocation_and_is_acknowledged_twice(
    browser: AsyncClient, session: Session
) -> None:
    async with open_stream(browser, session.pk) as tab:
        for _ in range(2):
            response = await tab.post(type="message", id="m1", text="hi")
            await tab.receive("invocation", client_id="m1", status="completed")
    # The reply tells of the end as well: the process of the stream may not get the notice.
    assert json.loads(response.content)["status"] == "completed"
    assert await Invocation.objects.filter(session=session).acount() == 1


async def test_an_invocation_uses_the_database_after_the_request_of_its_message(
    browser: AsyncClient, session: Session, served: Served
) -> None:
    has_response = asyncio.Event()

    async def keep(tool_context: ToolContext) -> str:
        """Keep a note."""
        await has_response.wait()
        await tool_context.save_artifact("note.txt", types.Part(text="kept"))
        return "kept"

    model = ScriptedModel(turns=[call("keep"), "It is kept."])
    agent = LlmAgent(name="echo", model=model, tools=[keep])
    served(App(name="echo", root_agent=agent))
    async with open_stream(browser, session.pk) as tab:
        await tab.post(type="message", id="m1", text="hi")
        has_response.set()
        await tab.receive("invocation", client_id="m1", status="completed")
    assert await Artifact.objects.filter(session=session).acount() == 1


async def test_the_list_of_chats_is_followed_on_request(browser: AsyncClient, session: Session) -> None:
    async with open_stream(browser, session.pk, "list=1") as tab:
        await tab.receive("ready")
        response = await browser.post(f"/chat/{session.pk}/pin/")
        assert response.status_code == 204
        assert await tab.receive("sessions") == {"v": 1, "type": "sessions"}


async def test_the_stream_shows_that_it_is_alive(
    browser: AsyncClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.01)
    async with open_stream(browser, session.pk) as tab:
        await tab.receive("ready")
        for _ in range(3):
            assert (await tab.receive())["type"] == "pong"


async def test_a_sign_out_ends_the_stream_and_frames_are_no_longer_taken(
    browser: AsyncClient, session: Session
) -> None:
    tab = StreamTab(browser, session.pk)
    await tab.open()
    await tab.receive("ready")
    await browser.alogout()
    assert await tab.close_code() == 4401
    response = await tab.post(type="message", id="m1", text="hi")
    assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/accounts/login/")
    assert not await Invocation.objects.filter(session=session).aexists()


async def test_a_server_below_a_path_serves_the_stream_there(browser: AsyncClient, session: Session) -> None:
    tab = StreamTab(browser, session.pk, root_path="/assistant")
    await tab.open()
    assert tab.status == 200
    await tab.receive("ready")
    await tab.leave()


async def test_a_deleted_session_ends_the_stream(browser: AsyncClient, session: Session) -> None:
    tab = StreamTab(browser, session.pk)
    await tab.open()
    await tab.receive("ready")
    await browser.post(f"/chat/{session.pk}/delete/")
    assert await tab.close_code() == 4404


async def test_streams_count_as_open_sockets_and_a_tab_that_is_closed_gives_its_place_back(
    browser: AsyncClient, session: Session, configure: Configure
) -> None:
    configure(max_sockets_per_user=2)
    async with open_stream(browser, session.pk) as first:
        await first.receive("ready")
        async with open_stream(browser, session.pk) as second:
            await second.receive("ready")
            third = StreamTab(browser, session.pk)
            await third.open()
            refusal = await third.receive()
            assert (refusal["code"], refusal["message"]) == (
                "limit",
                "2 connections are open already. Close other tabs or programs that use this site.",
            )
            assert await third.close_code() == 4429
        async with open_stream(browser, session.pk) as again:
            await again.receive("ready")


async def test_frames_above_the_rate_are_refused(
    browser: AsyncClient, session: Session, configure: Configure
) -> None:
    configure(max_frames_per_user=3)
    tab = StreamTab(browser, session.pk)
    responses = [await tab.post(type="ping") for _ in range(4)]
    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    assert json.loads(responses[0].content)["type"] == "pong"
    assert json.loads(responses[3].content)["message"] == "Requests are limited to 3 a minute. Wait a minute."


HOSTILE: dict[str, tuple[str | bytes, int, str]] = {
    "nothing": ("", 400, "The frame cannot be used"),
    "NUL": ("\0", 400, "The frame cannot be used"),
    "no UTF-8": (b'{"type": "message", "id": "m", "text": "\xff"}', 400, "The frame cannot be used"),
    "half surrogate": ('{"type": "message", "id": "m", "text": "\\ud800"}', 400, "The frame cannot be used"),
    "half surrogate in bytes": (b'{"type": "ping\xed\xa0\x80"}', 400, "The frame cannot be used"),
    "unknown type": ('{"type": "shout"}', 400, "The frame cannot be used"),
    "unknown field": ('{"type": "ping", "loud": true}', 400, "The frame cannot be used: ping.loud"),
    "hello": ('{"type": "hello"}', 400, "A hello frame opens a websocket."),
    "nested": ("[" * 100_000, 400, "The frame cannot be used"),
    "10 MB": ("x" * 10_000_000, 413, "The frame is larger than 256000 characters."),
    "10 MB in 2.5 million characters": ("\U0001f600" * 2_500_000, 413, "The frame is larger than"),
    "somebody else's invocation": ('{"type": "cancel", "invocation_id": "e-1"}', 404, "There is no"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_bad_frame_is_answered_with_a_sentence(
    name: str, browser: AsyncClient, session: Session
) -> None:
    body, status, sentence = HOSTILE[name]
    response = await StreamTab(browser, session.pk).post_body(body)
    assert response.status_code == status
    frame = json.loads(response.content)
    assert frame["type"] == "error" and frame["message"].startswith(sentence)
    assert frame["code"] == {400: "invalid", 404: "not_found", 413: "too_large"}[status]


async def test_a_frame_that_fails_is_logged_under_the_reference_that_the_person_is_told(
    browser: AsyncClient, session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*args: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(event_stream, "handle_message", fail)
    response = await StreamTab(browser, session.pk).post(type="message", id="m1", text="hi")
    frame = json.loads(response.content)
    assert (response.status_code, frame["code"], frame["in_reply_to"]) == (500, "internal", "m1")
    reference = frame["message"].partition("reference ")[2][:8]
    assert f"Serving session {session.pk} failed (reference {reference})" in caplog.text
    assert "broken" in caplog.text


async def test_frames_need_the_token_of_the_page(person: User, session: Session) -> None:
    browser = AsyncClient(enforce_csrf_checks=True)
    await browser.aforce_login(person)
    tab = StreamTab(browser, session.pk)
    frame = json.dumps({"type": "message", "id": "m1", "text": "hi"})
    assert (await tab.post_body(frame)).status_code == 403
    page = await browser.get(f"/chat/{session.pk}/")
    token = page.content.decode().partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    forged = {"X-CSRFToken": token, "Origin": "http://evil.example"}
    assert (await tab.post_body(frame, **forged)).status_code == 403
    assert not await Invocation.objects.filter(session=session).aexists()
    assert (await tab.post_body(frame, **{"X-CSRFToken": token})).status_code == 200
    assert site.CSRF_COOKIE_NAME in browser.cookies


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost.evil.example", "null", "https://localhost"]
)
async def test_pages_of_other_sites_cannot_open_a_stream(
    browser: AsyncClient, session: Session, origin: str
) -> None:
    tab = StreamTab(browser, session.pk, origin=origin)
    await tab.open()
    assert tab.status == 403
    own = StreamTab(browser, session.pk, origin="http://localhost")
    await own.open()
    assert own.status == 200
    await own.leave()


async def test_a_stream_is_only_read(browser: AsyncClient, session: Session) -> None:
    tab = StreamTab(browser, session.pk, method="POST")
    await tab.open()
    assert tab.status == 405
