"""Contract: streams of the API give each event once and in order, resume after `Last-Event-ID`, and end in time."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.test import AsyncClient
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.api import run_stream
from sessions_app.api.site_streams import SiteEncoder
from sessions_app.invocations.worker import worker
from sessions_app.live import session_feed
from sessions_app.live.process import live
from sessions_app.live.streamed_text import GrowingText, StreamKey, TextChunk
from sessions_app.live.updates import TextUpdate
from sessions_app.models import ApiKey, Event, Invocation, InvocationStatus, Session
from tests.fakes import ScriptedModel, call
from tests.integration.api.api_stream import ApiStream, Frame, bearer, cookies, open_stream
from tests.integration.api.conftest import make_key
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "servers")
Configure = Callable[..., None]


@pytest.fixture
def gate() -> asyncio.Event:
    """Opened by the test: the agent's tool waits for it."""
    return asyncio.Event()


@pytest.fixture(autouse=True)
def app(served: Served, gate: asyncio.Event) -> None:
    """An app whose agent says "one two three", after a call of a tool when it is told to wait."""

    async def wait(tool_context: ToolContext) -> str:
        """Wait."""
        await gate.wait()
        tool_context.state["app:secret"] = "everybody's"
        return "waited"

    def answer(request: Any) -> Any:
        last = request.contents[-1].parts[0]
        return call("wait") if last.text == "wait" else "one two three"

    agent = LlmAgent(name="echo", model=ScriptedModel(rule=answer), tools=[wait])
    served(App(name="echo", root_agent=agent))


@pytest.fixture
async def session(person: User) -> Session:
    return await use_cases.create_session(person, "echo")


@pytest.fixture
async def key(person: User) -> dict[str, str]:
    return bearer(await sync_to_async(make_key)(person))


async def start(key: dict[str, str], session: Session, text: str = "hi", **fields: Any) -> dict[str, Any]:
    response = await AsyncClient().post(
        f"/api/v1/sessions/{session.pk}/runs",
        {"text": text, **fields},
        content_type="application/json",
        headers=key,
    )
    assert response.status_code == 202, response.content
    run: dict[str, Any] = response.json()
    assert response["Location"] == f"/api/v1/runs/{run['run_id']}"
    return run


def events(frames: list[Frame]) -> list[int]:
    return [frame.id for frame in frames if frame.name == "event" and frame.id]


async def test_a_run_is_streamed_as_text_then_as_events_until_it_ends(
    session: Session, key: dict[str, str]
) -> None:
    await start(key, session, "earlier")
    await worker().wait_until_idle()
    run = await start(key, session)
    stream = ApiStream(f"/api/v1/runs/{run['run_id']}/stream", key)
    await stream.open()
    assert stream.headers[b"content-type"] == b"text/event-stream"
    assert stream.headers[b"x-accel-buffering"] == b"no"
    frames = await stream.all_frames()
    assert events(frames) == [3, 4]
    assert frames[-1].data == {
        "reason": "run_ended",
        "run_id": run["run_id"],
        "status": "completed",
        "error": None,
    }
    bodies = [frame.data for frame in frames if frame.name == "event"]
    assert bodies == [
        event.body async for event in Event.objects.filter(session=session, seq__gt=2).order_by("seq")
    ]
    text = "".join(frame.data["text"] for frame in frames if frame.name == "text")
    assert "one two three".startswith(text)


async def test_a_stream_that_is_open_during_the_run_ends_with_it(
    session: Session, key: dict[str, str], gate: asyncio.Event
) -> None:
    run = await start(key, session, "wait")
    stream = ApiStream(f"/api/v1/runs/{run['run_id']}/stream", key)
    await stream.open()
    frames = [await stream.receive("event"), await stream.receive("event")]
    gate.set()
    frames += await stream.all_frames()
    assert events(frames) == [1, 2, 3, 4]
    assert (frames[-1].name, frames[-1].data["status"]) == ("end", "completed")


async def test_growing_text_comes_with_its_offset_also_to_a_program_that_connects_later(
    session: Session, key: dict[str, str]
) -> None:
    path, hub = f"/api/v1/sessions/{session.pk}/stream", live().hub
    growing = StreamKey(1, "e-1", "event-1", "echo", thought=False)
    await Invocation.objects.acreate(
        session=session, invocation_id="e-1", client_id="m-1", message={}, status=InvocationStatus.RUNNING
    )
    async with open_stream(path, key) as stream:
        assert (await stream.receive()).data["last_seq"] == 0
        hub.publish_text(session.pk, growing, "one \U0001f600 ")
        fields = {"run_id": "e-1", "event_id": "event-1", "author": "echo", "thought": False}
        assert (await stream.receive("text")).data == {**fields, "offset": 0, "text": "one \U0001f600 "}
        hub.publish_text(session.pk, growing, "two")
        assert (await stream.receive("text")).data == {**fields, "offset": 7, "text": "two"}
    text = GrowingText(growing, is_local=True)
    update = TextUpdate(text, TextChunk(growing, 0, "not of this run"), 15)
    assert list(SiteEncoder("e-2").frames(update)) == []


async def test_a_broken_stream_resumes_after_the_last_event_without_loss_or_repetition(
    session: Session, key: dict[str, str], gate: asyncio.Event
) -> None:
    path = f"/api/v1/sessions/{session.pk}/stream"
    async with open_stream(path, key) as stream:
        await start(key, session, "wait")
        first = [await stream.receive("event"), await stream.receive("event")]
    gate.set()
    await worker().wait_until_idle()
    async with open_stream(path, {**key, "last-event-id": str(first[-1].id)}) as stream:
        rest = [await stream.receive("event") for _ in range(2)]
    assert events([*first, *rest]) == [1, 2, 3, 4]
    async with open_stream(f"{path}?after=3", key) as stream:
        assert (await stream.receive("event")).id == 4


@pytest.mark.parametrize("last", ["-1", "x", "9" * 5000, "1.5", "٣".encode().decode("latin-1"), "0", "\0"])
async def test_an_odd_last_event_id_begins_at_the_first_event(
    session: Session, key: dict[str, str], last: str
) -> None:
    await start(key, session)
    await worker().wait_until_idle()
    async with open_stream(f"/api/v1/sessions/{session.pk}/stream", {**key, "last-event-id": last}) as stream:
        assert (await stream.receive("event")).id == 1


async def test_a_last_event_id_of_the_future_loses_nothing_that_comes(
    session: Session, key: dict[str, str]
) -> None:
    headers = {**key, "last-event-id": "1000"}
    async with open_stream(f"/api/v1/sessions/{session.pk}/stream", headers) as stream:
        await stream.receive("status")
        await start(key, session)
        assert [(await stream.receive("event")).id for _ in range(2)] == [1, 2]


async def test_events_that_another_process_commits_are_read_from_the_database(
    session: Session, key: dict[str, str]
) -> None:
    async with open_stream(f"/api/v1/sessions/{session.pk}/stream", key) as stream:
        await stream.receive("status")
        await start(key, session)
        await worker().wait_until_idle()
        assert [(await stream.receive("event")).id for _ in range(2)] == [1, 2]
        body = {"id": "elsewhere", "author": "echo", "invocationId": "e-elsewhere", "actions": {}}
        for seq in (3, 4):
            await sync_to_async(Event.objects.create)(session=session, seq=seq, body=body)
        await Session.objects.filter(pk=session.pk).aupdate(last_seq=4)
        live().hub.receive_log_position(session.pk, 4)
        assert [(await stream.receive("event")).id for _ in range(2)] == [3, 4]


async def test_a_program_that_reads_nothing_for_a_while_gets_every_event_once(
    key: dict[str, str], session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_feed, "MAX_BUFFERED_CHARACTERS", 100)
    stream = run_stream.RunStream(session.pk, session.user_id, SiteEncoder(), after=0)
    frames = stream.frames()
    assert "event: status" in await anext(frames)
    for number in range(4):
        await start(key, session, f"{number}")
        await worker().wait_until_idle()
    seen: list[int] = []
    while len(seen) < 8:
        frame = await anext(frames)
        if frame.startswith("event: event"):
            seen.append(int(frame.split("id: ")[1].split("\n")[0]))
    await frames.aclose()
    assert seen == list(range(1, 9))


async def test_state_of_the_app_is_not_told(
    session: Session, key: dict[str, str], gate: asyncio.Event
) -> None:
    gate.set()
    run = await start(key, session, "wait")
    stream = ApiStream(f"/api/v1/runs/{run['run_id']}/stream", key)
    await stream.open()
    text = await stream.rest()
    assert "waited" in text
    assert "everybody" not in text


async def test_a_silent_stream_shows_that_it_is_alive(
    session: Session, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_stream, "HEARTBEAT_SECONDS", 0.01)
    async with open_stream(f"/api/v1/sessions/{session.pk}/stream", key) as stream:
        assert "event: status" in await stream.piece()
        assert [await stream.piece() for _ in range(3)] == [": \n\n"] * 3


async def test_a_program_that_leaves_during_its_request_gets_nothing(
    session: Session, key: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    await ApiStream("/adk/run_sse", key, method="POST", body={}).leave_during_body()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_revoked_key_ends_the_stream(session: Session, key: dict[str, str]) -> None:
    stream = ApiStream(f"/api/v1/sessions/{session.pk}/stream", key)
    await stream.open()
    await stream.receive("status")
    row = await ApiKey.objects.aget()
    row.revoked_at = timezone.now()
    await row.asave()
    assert (await stream.receive("end")).data == {"reason": "signed_out"}
    assert await stream.rest() == ""


async def test_a_sign_out_ends_the_stream_of_a_browser(browser: AsyncClient, session: Session) -> None:
    stream = ApiStream(f"/api/v1/sessions/{session.pk}/stream", cookies(browser))
    await stream.open()
    await stream.receive("status")
    await browser.alogout()
    assert (await stream.receive("end")).data == {"reason": "signed_out"}
    assert await stream.rest() == ""


async def test_a_deleted_session_ends_the_stream(
    browser: AsyncClient, session: Session, key: dict[str, str]
) -> None:
    stream = ApiStream(f"/api/v1/sessions/{session.pk}/stream", key)
    await stream.open()
    await stream.receive("status")
    await browser.post(f"/chat/{session.pk}/delete/")
    assert (await stream.receive("end")).data == {"reason": "deleted"}


async def test_streams_count_as_open_connections(
    session: Session, key: dict[str, str], configure: Configure
) -> None:
    configure(max_sockets_per_user=1)
    path = f"/api/v1/sessions/{session.pk}/stream"
    async with open_stream(path, key) as first:
        await first.receive("status")
        second = ApiStream(path, key)
        await second.open()
        assert second.status == 429
        assert int(second.headers[b"retry-after"]) > 0
        assert json.loads(await second.rest())["code"] == "limit"
    async with open_stream(path, key) as again:
        await again.receive("status")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost"])
async def test_pages_of_other_sites_cannot_open_a_stream(
    browser: AsyncClient, session: Session, origin: str
) -> None:
    stream = ApiStream(f"/api/v1/sessions/{session.pk}/stream", {**cookies(browser), "origin": origin})
    await stream.open()
    assert stream.status == 403
    assert json.loads(await stream.rest())["code"] == "forbidden"


async def test_a_key_of_a_service_reads_the_streams_of_its_people_only(
    person: User, session: Session
) -> None:
    group = await Group.objects.acreate(name="customers")
    service = await User.objects.acreate_user("shop")
    headers = bearer(await sync_to_async(make_key)(service, people=group))
    path = f"/api/v1/sessions/{session.pk}/stream"
    refused = ApiStream(path, headers)
    await refused.open()
    assert refused.status == 404
    await person.groups.aadd(group)
    async with open_stream(path, headers) as stream:
        await stream.receive("status")


async def test_a_stream_is_only_read(session: Session, key: dict[str, str]) -> None:
    stream = ApiStream(f"/api/v1/sessions/{session.pk}/stream", key, method="DELETE")
    await stream.open()
    assert (stream.status, stream.headers[b"allow"]) == (405, b"GET")


@pytest.mark.parametrize("run_id", ["e-unknown", "\0", "\u202e", "items", "%2e%2e", "x" * 5000])
async def test_an_unknown_run_has_no_stream(key: dict[str, str], person: User, run_id: str) -> None:
    stream = ApiStream(f"/api/v1/runs/{run_id}/stream", key)
    await stream.open()
    assert stream.status == 404


async def test_a_message_sent_twice_under_one_id_starts_one_run(
    key: dict[str, str], session: Session
) -> None:
    runs = [await start(key, session, client_id="order-7") for _ in range(2)]
    assert runs[0]["run_id"] == runs[1]["run_id"]
    response = await AsyncClient().post(
        f"/api/v1/sessions/{session.pk}/runs",
        {"text": "hi"},
        content_type="application/json",
        headers={**key, "Idempotency-Key": "order-7"},
    )
    assert response.json()["run_id"] == runs[0]["run_id"]
    assert await Invocation.objects.acount() == 1
    await worker().wait_until_idle()
    status = await AsyncClient().get(f"/api/v1/runs/{runs[0]['run_id']}", headers=key)
    assert (status.json()["status"], status.json()["error"]) == ("completed", None)
    times = [status.json()[name] for name in ("created_at", "started_at", "finished_at")]
    assert None not in times and times == sorted(times)


BAD: dict[str, tuple[Any, int]] = {
    "no text": ({"text": " "}, 400),
    "reserved id": ({"text": "hi", "client_id": "job:1"}, 400),
    "odd id": ({"text": "hi", "client_id": "\u202e"}, 422),
    "unknown file": ({"text": "hi", "files": [{"name": "\0", "version": 0}]}, 404),
    "wrong types": ({"text": {"items": 1}}, 422),
    "a list": (["items"], 422),
    "pairs": ([["text", "hi"]], 422),
    "null": (None, 422),
    "a number": (5, 422),
    "too long": ({"text": "x" * 40_000}, 413),
    "10 MB": ({"text": "x" * 10_000_000}, 413),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_message_is_refused_with_a_sentence(
    key: dict[str, str], session: Session, name: str
) -> None:
    body, status = BAD[name]
    response = await AsyncClient().post(
        f"/api/v1/sessions/{session.pk}/runs", json.dumps(body), content_type="application/json", headers=key
    )
    assert response.status_code == status, response.content
    problem = response.json()
    assert problem["detail"]
    if not isinstance(body, dict):
        assert problem["errors"] == [{"field": "body", "message": "Input should be an object"}]
    assert not await Invocation.objects.aexists()


async def test_a_message_to_an_unknown_session_is_not_found(key: dict[str, str]) -> None:
    response = await AsyncClient().post(
        f"/api/v1/sessions/{uuid4()}/runs", {"text": "hi"}, content_type="application/json", headers=key
    )
    assert response.status_code == 404
