"""Websocket protocol, frame by frame, through Channels' test client."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, User
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import LlmRequest
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.codec import content_to_json
from sessions_app.base.statuses import JobStatus
from sessions_app.chat import browser_encoder
from sessions_app.chat.consumers import ChatConsumer
from sessions_app.chat.viewer import GREETING_SECONDS
from sessions_app.conf import conf
from sessions_app.invocations.worker import worker
from sessions_app.live.hub import Hub
from sessions_app.live.notices import job_notice
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, ScheduledTask, Session, ToolJob
from sessions_app.store.sql import event_log
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, StreamingModel, call, parts_of, say
from tests.integration.another_process import another_process
from tests.integration.socket_tab import Tab, Websocket, open_tab
from tests.integration.tampering import tamper_async
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel(rule=lambda request: "one two three")
    served(LlmAgent(name="echo", model=model))
    return model


@pytest.fixture
async def session(person: User, model: ScriptedModel) -> Session:
    """A session whose agent says "one two three"."""
    return await use_cases.create_session(person, "echo")


@pytest.fixture
async def tab(person: User, session: Session) -> AsyncIterator[Tab]:
    """An open tab that has received `ready`."""
    async with open_tab(person, session) as (opened, _):
        yield opened


async def test_an_answer_comes_as_text_then_as_events_and_ends(person: User, session: Session) -> None:
    async with open_tab(person, session) as (tab, ready):
        assert (ready["type"], ready["seq"], ready["invocation"], ready["jobs"]) == ("ready", 0, None, [])
        await tab.send(type="message", id="m1", text="hi")
        frames = await tab.until_done()
    events = [frame for frame in frames if frame["type"] == "event"]
    assert [(frame["seq"], frame["event"]["author"]) for frame in events] == [(1, "user"), (2, "echo")]
    partials = [frame for frame in frames if frame["type"] == "partial"]
    assert "one two three ".startswith(
        "".join(frame["text"] for frame in partials)
    )  # the event may overtake it
    assert all(frame["event_id"] == events[1]["event"]["id"] for frame in partials)
    assert events[1]["event"] == (await Event.objects.aget(session=session, seq=2)).body


def look_up(word: str) -> str:
    """Look a word up."""
    return "found"


def look_up_then_answer(request: LlmRequest) -> Any:
    if parts_of(request.contents[-1])[-1].function_response:
        return "one two three " * 10
    return call("look_up", word="lamp")


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["in this process", "in another process"])
async def test_all_events_of_an_answer_come_before_the_frame_of_its_end(
    person: User, served: Served, is_elsewhere: bool
) -> None:
    """Pages drop the text of an answer that has ended. Many answers at once keep the relay busy."""
    model = ScriptedModel(rule=look_up_then_answer)
    served(App(name="echo", root_agent=LlmAgent(name="echo", model=model, tools=[look_up])))
    sessions = [await use_cases.create_session(person, "echo") for _ in range(6)]
    async with AsyncExitStack() as stack:
        tabs = [(await stack.enter_async_context(open_tab(person, session)))[0] for session in sessions]
        answering = await stack.enter_async_context(another_process()) if is_elsewhere else worker()
        message = content_to_json(say("hi"))
        for number in range(3):
            for session in sessions:
                new = NewInvocation(
                    session.pk, user_id=person.pk, client_id=f"m{number}", message=message, title=""
                )
                await answering.start(new)
            for frames in await asyncio.gather(*(tab.until_done() for tab in tabs)):
                seqs = [frame["seq"] for frame in frames if frame["type"] == "event"]
                assert seqs == [4 * number + place for place in (1, 2, 3, 4)]
                assert frames[-1]["status"] == "completed"


async def test_a_message_sent_twice_starts_one_invocation_and_is_acknowledged_twice(
    session: Session, tab: Tab
) -> None:
    await tab.send(type="message", id="m1", text="hi")
    await tab.until_done()
    await tab.send(type="message", id="m1", text="hi")
    again = await tab.receive()
    assert (again["type"], again["client_id"], again["status"]) == ("invocation", "m1", "completed")
    assert await Invocation.objects.filter(session=session).acount() == 1


async def test_a_reconnecting_tab_gets_the_missing_events_once_and_in_order(
    person: User, session: Session
) -> None:
    async with open_tab(person, session) as (first, _):
        for number in range(3):
            await first.send(type="message", id=f"m{number}", text="hi")
            await first.until_done()
    async with open_tab(person, session, after=2) as (second, ready):
        assert ready["seq"] == 6
        assert [(await second.receive())["seq"] for _ in range(4)] == [3, 4, 5, 6]


async def test_an_event_of_another_version_of_the_site_does_not_stop_later_events(
    person: User, session: Session, tab: Tab
) -> None:
    await tab.send(type="message", id="m1", text="hi")
    await tab.until_done()
    stored = await Event.objects.aget(session=session, seq=1)
    body = {**stored.body, "actions": {"unheardOf": 1}}
    await tamper_async(lambda: Event.objects.filter(pk=stored.pk).update(body=body))
    async with open_tab(person, session) as (other, _):
        first, second = await other.receive(), await other.receive()
    assert (first["seq"], second["seq"]) == (1, 2)
    assert "another version of the site" in first["html"] and "one two three" in second["html"]


async def test_an_edited_message_sends_the_first_rewound_event(person: User, session: Session) -> None:
    async with open_tab(person, session) as (tab, _):
        for number in range(2):
            await tab.send(type="message", id=f"m{number}", text="hi")
            frames = await tab.until_done()
        replaced = frames[-1]["id"]
        await tab.send(type="message", id="m3", text="hello", replaces=replaced)
        events = [frame for frame in await tab.until_done() if frame["type"] == "event"]
        sent = [(frame["seq"], frame.get("rewound_from")) for frame in events]
        assert sent == [(5, 3), (6, None), (7, None)]
        await tab.send(type="message", id="m4", text="late", replaces=replaced)
        refusal = await tab.receive()
        assert (refusal["code"], refusal["in_reply_to"]) == ("not_found", "m4")
    async with open_tab(person, session, after=4) as (away, _):
        missed = [await away.receive() for _ in range(3)]
        assert missed == events


async def test_an_edited_message_is_refused_while_an_invocation_runs(tab: Tab, model: ScriptedModel) -> None:
    await tab.send(type="message", id="m1", text="hi")
    replaced = (await tab.until_done())[-1]["id"]
    model.rule, model.turns = None, [hold := asyncio.Event()]
    await tab.send(type="message", id="m2", text="hi")
    while (await tab.receive()).get("status") != "running":
        pass
    await tab.send(type="message", id="m3", text="hello", replaces=replaced)
    while (refusal := await tab.receive())["type"] != "error":
        pass
    assert (refusal["code"], refusal["in_reply_to"]) == ("conflict", "m3")
    hold.set()
    await tab.until_done()


@pytest.mark.parametrize(
    "frame",
    [
        "not json",
        '{"v": 1, "type": "dance"}',
        '{"v": 1, "type": "hello", "after": -1}',
        '{"v": 1, "type": "message", "id": "a\\u0000", "text": "x"}',
        '{"v": 1, "type": "message", "id": "m", "text": "   "}',
        '{"v": 2, "type": "ping"}',
    ],
)
async def test_a_bad_frame_is_answered_with_an_error_and_the_socket_stays_open(tab: Tab, frame: str) -> None:
    await tab.socket.send_to(text_data=frame)
    answer = await tab.receive()
    assert (answer["type"], answer["code"]) == ("error", "invalid")
    await tab.send(type="ping")
    assert (await tab.receive())["type"] == "pong"


async def test_frames_above_the_size_or_rate_limit_close_the_socket_with_their_codes(
    person: User, session: Session, settings: Settings
) -> None:
    settings.ADK = {"max_frames_per_user": 20}
    async with open_tab(person, session) as (tab, _):
        await tab.socket.send_to(text_data="x" * (conf().frame_limit + 1))
        refused = await tab.receive()
        assert (refused["type"], refused["code"]) == ("error", "too_large")
        assert await tab.close_code() == 4413
    async with open_tab(person, session) as (tab, _):
        for _ in range(18):  # two frames of the first tab count, and the `hello` of this one
            await tab.send(type="ping")
        answers = [await tab.receive() for _ in range(18)]
        assert [answer["type"] for answer in answers] == ["pong"] * 17 + ["error"]
        assert await tab.close_code() == 4429


async def test_a_stranger_gets_nothing_but_the_close_code(person: User, session: Session) -> None:
    stranger = await get_user_model().objects.acreate_user("eve")
    for user, code in ((stranger, 4404), (AnonymousUser(), 4401)):
        tab = Tab(user, session)
        await tab.socket.connect()
        assert await tab.close_code() == code
    gone = Tab(person, Session(id=uuid4()))
    await gone.socket.connect()
    assert await gone.close_code() == 4404


async def test_scheduled_tasks_are_sent_with_ready_and_when_one_is_cancelled(
    person: User, session: Session
) -> None:
    at = datetime(2040, 1, 1, 9, tzinfo=UTC)
    task = await ScheduledTask.objects.acreate(
        session=session,
        call_id="c1",
        task="<b>Look</b>",
        start_at=at,
        next_at=at,
        every="day",
        time_zone="UTC",
    )
    async with open_tab(person, session) as (here, ready), open_tab(person, session) as (there, _):
        (schedule,) = ready["schedules"]
        assert (schedule["id"], schedule["status"], schedule["how_often"]) == (task.pk, "active", "every day")
        assert "&lt;b&gt;" in schedule["html"] and "2040-01-01T09:00:00" in schedule["html"]
        await there.send(type="cancel_schedule", id=task.pk)
        for tab in (here, there):
            frame = await tab.receive()
            assert (frame["type"], frame["id"], frame["status"]) == ("schedule", task.pk, "cancelled")
        await there.send(type="cancel_schedule", id=task.pk + 1)
        assert (await there.receive())["code"] == "not_found"
    async with open_tab(person, session) as (_, ready):
        assert ready["schedules"] == []


class GatedModel(StreamingModel):
    """Streams a word, and another one when the test allows it."""

    model: str = "gated"
    may_end: asyncio.Event

    async def words(self) -> AsyncGenerator[str, None]:
        yield "one "
        await self.may_end.wait()
        yield "two"


async def test_a_tab_that_opens_during_an_answer_gets_the_text_so_far(
    person: User, session: Session, tab: Tab, served: Served
) -> None:
    gated = GatedModel(may_end=asyncio.Event())
    served(LlmAgent(name="echo", model=gated))
    await tab.send(type="message", id="m1", text="hi")
    while (await tab.receive())["type"] != "partial":
        pass
    async with open_tab(person, session) as (second, ready):
        assert ready["invocation"]["status"] == "running"
        while (partial := await second.receive())["type"] != "partial":
            pass
        gated.may_end.set()
        await second.until_done()
    assert partial["offset"] == 0 and partial["text"].startswith("one")


async def test_a_tab_that_missed_a_notice_is_greeted_again(person: User, session: Session, tab: Tab) -> None:
    await stop_slow_tick()
    await Invocation.objects.acreate(
        session=session, invocation_id="e-elsewhere", client_id="m", message={}, status="running"
    )
    ready = await greeted_after_ticks(person, session, tab)
    assert ready["invocation"] == {"id": "e-elsewhere", "status": "running"}
    job = await ToolJob.objects.acreate(session=session, call_id="c", tool_name="report", status="waiting")
    ready = await greeted_after_ticks(person, session, tab)
    assert [(shown["id"], shown["status"]) for shown in ready["jobs"]] == [(str(job.pk), "waiting")]


async def test_a_tab_that_missed_all_notices_of_an_invocation_is_greeted_again(
    person: User, session: Session, tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stop_slow_tick()
    with monkeypatch.context() as patch:
        patch.setattr(Hub, "publish_notice", lambda *_: None)  # as when Redis loses those of another process
        await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
        await worker().wait_until_idle()
    while (await tab.receive()).get("seq") != 2:
        pass
    ready = await greeted_after_ticks(person, session, tab)
    assert (ready["seq"], ready["invocation"]) == (2, None)


async def stop_slow_tick() -> None:
    """Leave the ticks to the test: one of the process in between, as when Redis follows late, would greet twice."""
    (slow_tick,) = [task for task in live().tasks if task.get_name() == "live: slow tick"]
    while not slow_tick.done():
        slow_tick.cancel()
        await asyncio.wait([slow_tick], timeout=1)


async def greeted_after_ticks(person: User, session: Session, tab: Tab) -> dict[str, Any]:
    """Return the `ready` frame after two ticks that disagree with the tab; a third one sends nothing."""
    session_status = await event_log.session_status(session.pk, person.pk)
    assert session_status is not None
    for _ in range(2):  # A single difference may be a notice that is on its way.
        live().hub.receive_status(session.pk, session_status)
    ready = await tab.receive()
    assert ready["type"] == "ready"
    live().hub.receive_status(session.pk, session_status)
    await tab.send(type="ping")
    assert (await tab.receive())["type"] == "pong"
    return ready


async def test_a_notice_and_an_event_that_come_while_the_status_is_read_follow_it(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await ToolJob.objects.acreate(session=session, call_id="c", tool_name="report", status="queued")

    async def read_slowly(session_id: UUID) -> list[ScheduledTask]:
        job.status = JobStatus.WAITING
        live().hub.publish_notice(session_id, job_notice(job))
        live().hub.receive_log_position(session_id, 1)
        return []

    monkeypatch.setattr(browser_encoder, "tasks_of_session", read_slowly)
    async with open_tab(person, session) as (tab, ready):
        assert [shown["status"] for shown in ready["jobs"]] == ["queued"]
        frame = await tab.receive()
        assert (frame["type"], frame["id"], frame["status"]) == ("job", str(job.pk), "waiting")


async def test_an_unexpected_error_of_a_frame_is_told_with_a_reference_and_the_socket_stays_open(
    tab: Tab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*args: object, **values: object) -> None:
        raise KeyError("odd row")

    monkeypatch.setattr(use_cases, "send_message", fail)
    await tab.send(type="message", id="m1", text="hi")
    frame = await tab.receive()
    assert (frame["type"], frame["code"], frame["in_reply_to"]) == ("error", "internal", "m1")
    assert frame["message"].endswith("Try again.") and "odd row" not in frame["message"]
    assert reference_of(frame) in caplog.text and "odd row" in caplog.text
    await tab.send(type="ping")
    assert (await tab.receive())["type"] == "pong"


async def test_an_error_before_the_connection_exists_reaches_the_server() -> None:
    socket = Websocket(ChatConsumer.as_asgi(), "/ws/chat/")
    with pytest.raises(KeyError, match="url_route"):
        await socket.connect()


async def test_an_unexpected_error_of_a_greeting_is_told_and_the_browser_is_asked_to_connect_again(
    person: User, session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*args: object) -> None:
        raise ValueError("odd row")

    monkeypatch.setattr(browser_encoder, "tasks_of_session", fail)
    tab = Tab(person, session)
    frame = await tab.open()
    assert frame["type"] == "error" and reference_of(frame) in caplog.text
    assert await tab.close_code() == 4503


async def test_an_unexpected_error_while_catching_up_is_told_and_the_browser_is_asked_to_connect_again(
    tab: Tab, session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*args: object) -> None:
        raise ValueError("odd row")

    monkeypatch.setattr(event_log, "events_after", fail)
    live().hub.receive_log_position(session.pk, 9)
    frame = await tab.receive()
    assert frame["type"] == "error" and reference_of(frame) in caplog.text
    assert await tab.close_code() == 4503


def reference_of(frame: dict[str, Any]) -> str:
    """Return the reference to the log in an `error` frame."""
    return str(frame["message"]).split("reference ")[1].split(")")[0]


async def test_ready_has_the_open_and_latest_jobs_without_their_results(
    person: User, session: Session
) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    await ToolJob.objects.abulk_create(
        ToolJob(
            session=session,
            call_id=f"c{number}",
            tool_name="count",
            status="succeeded" if number else "running",
            finished_at=long_ago + timedelta(hours=number) if number else None,
            result={"secret": "x" * 10_000},
        )
        for number in range(200)
    )
    async with open_tab(person, session) as (_, ready):
        calls = [job["call_id"] for job in ready["jobs"]]
    assert calls == ["c0", *(f"c{number}" for number in range(199, 150, -1))]
    assert "x" * 100 not in json.dumps(ready)


async def test_repeated_hellos_send_no_event_again_and_are_answered_together(
    person: User, session: Session
) -> None:
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
    await worker().wait_until_idle()
    began = time.monotonic()
    async with open_tab(person, session) as (tab, _):
        for _ in range(50):
            await tab.send(type="hello", after=0)
        await tab.send(type="ping")
        frames = [await tab.receive()]
        while frames[-1]["type"] != "pong":
            frames.append(await tab.receive())
        seconds = time.monotonic() - began  # in which the site has read all of them
        await tab.send(type="message", id="m2", text="hi")
        frames += await tab.until_done()
        while not await tab.socket.receive_nothing(timeout=1.5):
            frames.append(await tab.receive())
    assert [frame["seq"] for frame in frames if frame["type"] == "event"] == [1, 2, 3, 4]
    ready = [frame for frame in frames if frame["type"] == "ready"]
    assert 1 <= len(ready) <= 1 + seconds // GREETING_SECONDS


async def test_streamed_text_above_the_memory_for_it_is_shown_only_when_complete(
    person: User, session: Session, model: ScriptedModel, settings: Settings
) -> None:
    settings.ADK = {"streamed_bytes": 2_000}
    model.rule, model.pause = lambda request: ("w" * 49 + " ") * 100, 0.0001
    async with open_tab(person, session) as (tab, _):
        await tab.send(type="message", id="m1", text="hi")
        frames = await tab.until_done()
    streamed = "".join(frame["text"] for frame in frames if frame["type"] == "partial")
    (answer,) = [frame for frame in frames if frame["type"] == "event" and frame["seq"] == 2]
    whole = answer["event"]["content"]["parts"][0]["text"]
    assert len(streamed) < len(whole) // 2 and whole.startswith(streamed[:100])
