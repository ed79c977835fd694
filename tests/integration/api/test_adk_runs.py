"""Contract: `/adk/run_sse` and `/adk/run` are google-adk's by their JSON, and runs of the site by their durability."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import LongRunningFunctionTool, ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.live.process import live
from sessions_app.live.streamed_text import StreamKey
from sessions_app.models import Artifact, Event, Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.integration.api.api_stream import ApiStream, bearer, cookies, open_stream
from tests.integration.api.conftest import make_key
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "servers")
Configure = Callable[..., None]
RUN_SSE, RUN = "/adk/run_sse", "/adk/run"


@pytest.fixture
def gate() -> asyncio.Event:
    """Opened by the test: the agent's tool waits for it."""
    return asyncio.Event()


@pytest.fixture(autouse=True)
def app(served: Served, gate: asyncio.Event) -> None:
    """An app whose agent calls the tool that the message names, and else says "one two three"."""
    failures = [RuntimeError("out of order")]

    async def wait(tool_context: ToolContext) -> str:
        """Wait."""
        await gate.wait()
        return "waited"

    async def save(tool_context: ToolContext) -> dict[str, Any]:
        """Save a file."""
        await tool_context.save_artifact("note.txt", types.Part(text="kept"))
        return {"saved": True}

    def ask() -> None:
        """Ask somebody."""

    def answer(request: Any) -> Any:
        text = request.contents[-1].parts[0].text
        if text == "fail" and failures:
            raise failures.pop()
        return call(text) if text in ("wait", "save", "ask") else "one two three"

    tools = [wait, save, LongRunningFunctionTool(ask, answered_by="person")]
    agent = LlmAgent(name="echo", model=ScriptedModel(rule=answer), tools=tools)
    served(App(name="echo", root_agent=agent))


@pytest.fixture
async def session(person: User) -> Session:
    return await use_cases.create_session(person, "echo")


@pytest.fixture
async def key(person: User) -> dict[str, str]:
    return bearer(await sync_to_async(make_key)(person))


def asking(session: Session, *parts: Any, **fields: Any) -> dict[str, Any]:
    """The body of a request with a text, or with these parts."""
    sent = [{"text": part} if isinstance(part, str) else part for part in parts]
    message = {"newMessage": {"role": "user", "parts": sent}} if sent else {}
    return {"appName": "echo", "userId": "ada", "sessionId": session.key, **message, **fields}


async def run_sse(headers: dict[str, str], body: Any) -> list[dict[str, Any]]:
    """The data of each frame."""
    stream = ApiStream(RUN_SSE, headers, method="POST", body=body)
    await stream.open()
    text = await stream.rest()
    assert stream.status == 200, text
    assert stream.headers[b"content-type"] == b"text/event-stream"
    return [frame.data for frame in stream.parsed(text)]


async def refusal(
    path: str, headers: dict[str, str], body: Any
) -> tuple[int, dict[str, Any], dict[bytes, bytes]]:
    stream = ApiStream(path, headers, method="POST", body=body)
    await stream.open()
    return stream.status, json.loads(await stream.rest()), stream.headers


def texts(events: list[dict[str, Any]]) -> list[str]:
    return ["".join(part.get("text", "") for part in event["content"]["parts"]) for event in events]


async def test_a_run_yields_the_events_of_the_runner_and_not_the_message(
    session: Session, key: dict[str, str]
) -> None:
    events = await run_sse(key, asking(session, "hi"))
    assert texts(events) == ["one two three"]
    stored = await Event.objects.aget(session=session, seq=2)
    assert events == [stored.body]
    assert events[0]["invocationId"] == (await Invocation.objects.aget()).invocation_id


async def test_the_names_of_python_are_taken_too(session: Session, key: dict[str, str]) -> None:
    body = {
        "app_name": "echo",
        "user_id": "ada",
        "session_id": session.key,
        "new_message": {"parts": [{"text": "hi"}]},
    }
    assert texts(await run_sse(key, body)) == ["one two three"]


async def test_partial_events_append_to_the_text_of_the_whole_event(
    session: Session, key: dict[str, str], gate: asyncio.Event
) -> None:
    body = asking(session, "wait", streaming=True)
    async with open_stream(RUN_SSE, key, method="POST", body=body) as stream:
        first = await stream.receive()
        assert "functionCall" in first.data["content"]["parts"][0] and first.id == 2
        run_id = first.data["invocationId"]
        for text in ("Hel", "lo \U0001f600"):
            live().hub.publish_text(session.pk, StreamKey(1, run_id, "e-1", "echo", thought=False), text)
            partial = (await stream.receive()).data
            assert partial["partial"] is True and partial["content"]["role"] == "model"
            assert (partial["id"], partial["author"], partial["invocationId"]) == ("e-1", "echo", run_id)
            assert partial["content"]["parts"] == [{"text": text}]
        gate.set()
        rest = [frame.data for frame in await stream.all_frames()]
    assert texts([event for event in rest if not event.get("partial")])[-1] == "one two three"


async def test_a_run_goes_on_when_the_connection_breaks_and_is_followed_further(
    session: Session, key: dict[str, str], gate: asyncio.Event
) -> None:
    headers, body = {**key, "idempotency-key": "order-7"}, asking(session, "wait")
    async with open_stream(RUN_SSE, headers, method="POST", body=body) as stream:
        first = await stream.receive()
    gate.set()
    await worker().wait_until_idle()
    resumed = ApiStream(RUN_SSE, {**headers, "last-event-id": str(first.id)}, method="POST", body=body)
    await resumed.open()
    assert [frame.id for frame in await resumed.all_frames()] == [3, 4]
    again = ApiStream(RUN_SSE, headers, method="POST", body=body)
    await again.open()
    assert [frame.id for frame in await again.all_frames()] == [2, 3, 4]
    assert await Invocation.objects.acount() == 1


async def test_run_answers_with_the_list_of_all_events(session: Session, key: dict[str, str]) -> None:
    async with open_stream(RUN, key, method="POST", body=asking(session, "save")) as stream:
        assert stream.headers[b"content-type"] == b"application/json"
        events = json.loads(await stream.rest())
    stored = [event.body async for event in Event.objects.filter(session=session, seq__gt=1).order_by("seq")]
    assert events == stored and len(events) == 3


async def test_files_of_an_event_come_in_a_frame_of_their_own_unless_a_call_is_answered(
    session: Session, key: dict[str, str]
) -> None:
    events = await run_sse(key, asking(session, "save"))
    content, files = (event for event in events if event["id"] == events[1]["id"])
    assert content["actions"]["artifactDelta"] == {} and "content" in content
    assert files["actions"]["artifactDelta"] == {"note.txt": 0} and "content" not in files
    events = await run_sse(key, asking(session, "save", functionCallEventId="e"))
    assert [event["actions"]["artifactDelta"] for event in events] == [{}, {"note.txt": 1}, {}]


async def test_a_state_delta_is_committed_with_the_message(session: Session, key: dict[str, str]) -> None:
    delta = {"topic": "birds", "user:name": "Ada", "odd\u0000": "\u202e"}
    await run_sse(key, asking(session, "hi", stateDelta=delta))
    row = await Session.objects.aget(pk=session.pk)
    assert row.state == {"topic": "birds", "odd\ufffd": "\u202e"}
    first = await Event.objects.aget(session=session, seq=1)
    assert first.body["actions"]["stateDelta"]["topic"] == "birds"


async def test_state_of_the_app_is_not_changed(session: Session, key: dict[str, str]) -> None:
    body = asking(session, "hi", stateDelta={"app:price": 0})
    (frame,) = await run_sse(key, body)
    assert "“app:price” is state of the app" in frame["error"]
    assert (await refusal(RUN, key, body))[0] == 403
    assert not await Invocation.objects.aexists()


async def test_a_long_running_call_is_answered_once(session: Session, key: dict[str, str]) -> None:
    events = await run_sse(key, asking(session, "ask"))
    (call_id,) = events[0]["longRunningToolIds"]
    response = {"id": call_id, "name": "ask", "response": {"result": "42"}}
    body = asking(session, {"functionResponse": response}, functionCallEventId=events[0]["id"])
    answered = await run_sse(key, body)
    assert texts(answered)[-1] == "one two three"
    (second,) = await run_sse(key, body)
    assert second["error"].startswith("This was answered already")
    assert (await refusal(RUN, key, body))[0] == 409
    again = await run_sse({**key, "idempotency-key": "same"}, body)
    assert again == answered


async def test_a_failed_run_tells_why_and_is_resumed_by_its_id(session: Session, key: dict[str, str]) -> None:
    failed = await run_sse(key, asking(session, "fail"))
    assert failed[-2]["errorCode"] and failed[-1].keys() == {"error"}
    run_id = failed[-2]["invocationId"]
    resumed = await run_sse(key, asking(session, invocationId=run_id))
    assert texts([event for event in resumed if "content" in event])[-1] == "one two three"
    (ended,) = await run_sse(key, asking(session, invocationId=run_id))
    assert "did not fail" in ended["error"]
    (nothing,) = await run_sse(key, asking(session))
    assert "nothing to run" in nothing["error"]


def _content(row: Artifact) -> bytes:
    with row.file.open("rb") as stored:
        return bytes(stored.read())


async def test_files_of_a_message_become_uploads_of_the_session(
    session: Session, key: dict[str, str]
) -> None:
    content = bytes(range(256))
    blob = {"displayName": "up\u202e/../x.bin", "data": b64encode(content).decode(), "mimeType": "text/plain"}
    await run_sse(key, asking(session, "see", {"inlineData": blob}))
    row = await Artifact.objects.aget(session=session)
    assert (row.filename, row.is_upload, row.size) == ("x.bin", True, 256)
    assert await sync_to_async(_content)(row) == content
    message = (await Invocation.objects.aget()).message
    assert [list(part) for part in message["parts"]] == [["text"], ["fileData"]]


async def test_an_unknown_session_person_or_app_is_404_before_the_stream(
    session: Session, key: dict[str, str]
) -> None:
    for change in ({"sessionId": "none"}, {"userId": "eve"}, {"appName": "other"}, {"sessionId": "\u0000"}):
        status, problem, _ = await refusal(RUN_SSE, key, {**asking(session, "hi"), **change})
        assert (status, problem["code"]) == (404, "not_found"), change


BAD: dict[str, Any] = {
    "nothing": b"",
    "no JSON": b"\xff",
    "a list": ["items"],
    "no session": {"appName": "echo", "userId": "ada"},
    "wrong type": {"appName": "echo", "userId": 7, "sessionId": {"items": 1}},
    "half surrogate": b'{"appName": "echo", "userId": "\\ud800", "sessionId": "s"}',
    "nested": b"[" * 100_000,
    "odd part": {
        "appName": "e",
        "userId": "a",
        "sessionId": "s",
        "newMessage": {"parts": [{"functionCall": {}}]},
    },
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("path", [RUN_SSE, RUN])
async def test_a_request_that_cannot_be_used_is_refused_by_its_fields(
    key: dict[str, str], name: str, path: str
) -> None:
    status, problem, _ = await refusal(path, key, BAD[name])
    assert status == 422 and problem["errors"], problem


async def test_too_much_and_too_many_are_refused_before_the_stream(
    session: Session, key: dict[str, str], configure: Configure, gate: asyncio.Event
) -> None:
    status, problem, _ = await refusal(RUN_SSE, key, asking(session, "x" * 25_000_000))
    assert (status, problem["code"]) == (413, "too_large")
    configure(max_queued_messages_per_user=1)
    async with open_stream(RUN_SSE, key, method="POST", body=asking(session, "wait")) as first:
        await first.receive()
        await use_cases.send_message(actors.person(await User.objects.aget()), session.pk, "m-2", "queued")
        status, problem, _ = await refusal(RUN_SSE, key, asking(session, "hi"))
        assert (status, problem["code"]) == (429, "limit")
        configure(max_sockets_per_user=1)
        status, problem, headers = await refusal(RUN_SSE, key, asking(session, "hi"))
        assert status == 429 and int(headers[b"retry-after"]) > 0
        gate.set()


async def test_a_browser_runs_agents_from_pages_of_the_site_only(
    browser: AsyncClient, session: Session
) -> None:
    cookie, body = cookies(browser), asking(session, "hi")
    for headers in (
        {},
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"origin": "null"},
    ):
        status, problem, _ = await refusal(RUN_SSE, {**cookie, **headers}, body)
        assert (status, problem["code"]) == (403, "forbidden"), headers
    forged = {"origin": "http://evil.example", "sec-fetch-site": "same-origin"}
    assert (await refusal(RUN_SSE, {**cookie, **forged}, body))[0] == 403
    assert not await Invocation.objects.aexists()
    for headers in ({"origin": "http://localhost"}, {"sec-fetch-site": "same-origin"}):
        assert texts(await run_sse({**cookie, **headers}, body)) == ["one two three"]
