"""Remote agents that are broken or hostile: the turn ends with one clear sentence (contract A10)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from runtime.a2a import remote_client
from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.events import Event
from tests.a2a_server import card_of
from tests.echo_server import EchoServer, Received, Reply
from tests.unit.runtime.conversation import Conversation

TASK = {"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}
DONE = {
    "id": "t-1",
    "contextId": "c-1",
    "status": {
        "state": "TASK_STATE_COMPLETED",
        "message": {"role": "ROLE_AGENT", "parts": [{"text": "done"}]},
    },
}


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


def card(server: EchoServer, **changes: Any) -> bytes:
    fields = MessageToDict(card_of(f"{server.url}/rpc"))
    return json.dumps({**fields, **changes}).encode()


async def say(server: EchoServer, *, seconds: float = 20.0) -> Event:
    """Send a message to the agent of the server, and return the last event."""
    agent = RemoteA2aAgent("oracle", f"{server.url}/card", timeout=seconds)
    return (await Conversation(agent).say("hello"))[-1]


def stream(*items: dict[str, Any] | str) -> Reply:
    """Return a stream of results, or of texts as they are."""
    lines = [
        item if isinstance(item, str) else json.dumps({"jsonrpc": "2.0", "id": 1, "result": item})
        for item in items
    ]
    body = "".join(f"data: {line}\n\n" for line in lines)
    return Reply(body=body.encode("utf-8", "surrogatepass"), headers={"Content-Type": "text/event-stream"})


def rpc(server: EchoServer, **answers: Reply) -> None:
    """Answer each method of the protocol."""
    server.routes["/card"] = lambda received: Reply(body=card(server))
    server.routes["/rpc"] = lambda received: answers[json.loads(received.body)["method"]]


def result(value: object) -> Reply:
    return Reply(body=json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode())


ERROR = Reply(body=b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "secret words"}}')


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(body=b"[" + b" " * 1_100_000), "more than 1000000 bytes"),
        (Reply(body=b"<html>"), "is no agent card"),
        (Reply(body=b"[]"), "is no agent card"),
        (Reply(body=b'{"skills": 5}'), "is no agent card"),
        (Reply(body=b'{"securitySchemes": {"a": 1}}'), "is no agent card"),
        (Reply(body=b'{"a": ' * 100_000), "is no agent card"),
        (Reply(body=b"\xff\xfe"), "is no agent card"),
        (Reply(body=b'{"\\ud800": 1}'), "is no agent card"),
        (Reply(body=b"{}"), "names no address"),
        (Reply(status=204), "status 204"),
        (Reply(status=302, headers={"Location": "https://example.org/"}), "status 302"),
        (Reply(body=b'{"url": "https://example.org/"}'), "on another server"),
        (Reply(body=b'{"url": "http://example.org/"}'), "must begin with https://"),
        (Reply(body=b'{"url": "file:///etc/passwd"}'), "must begin with https://"),
        (Reply(body=b'{"url": "http://[::1"}'), "must begin with https://"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_card_that_cannot_be_used_is_refused(server: EchoServer, reply: Reply, words: str) -> None:
    server.routes["/card"] = lambda received: reply
    event = await say(server)
    assert (event.error_code, event.content) == ("REMOTE_UNREADABLE", None)
    assert words in (event.error_detail or "")
    assert [received.path for received in server.received] == ["/card"]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "REMOTE_REFUSED"),
        (404, "REMOTE_REFUSED"),
        (429, "REMOTE_UNREACHABLE"),
        (503, "REMOTE_UNREACHABLE"),
    ],
)
async def test_the_status_of_an_error_tells_whether_to_try_again(
    server: EchoServer, status: int, code: str
) -> None:
    server.routes["/card"] = lambda received: Reply(status=status)
    refused = await say(server)
    assert refused.error_code == code and str(status) in (refused.error_detail or "")
    rpc(server, SendStreamingMessage=Reply(status=status), CancelTask=ERROR, GetTask=ERROR)
    refused = await say(server)
    assert refused.error_code == code and str(status) in (refused.error_detail or "")


async def test_a_card_is_not_fetched_without_encryption_from_another_machine() -> None:
    [event] = await Conversation(RemoteA2aAgent("oracle", "http://example.org/card")).say("hi")
    assert "must begin with https://" in (event.error_detail or "")


async def test_a_card_that_offers_no_known_protocol_is_refused(server: EchoServer) -> None:
    pigeon = {"url": f"{server.url}/", "protocolBinding": "PIGEON", "protocolVersion": "1.0"}
    server.routes["/card"] = lambda received: Reply(body=card(server, supportedInterfaces=[pigeon]))
    assert "cannot be used" in ((await say(server)).error_detail or "")


async def test_a_file_that_is_no_card_is_refused() -> None:
    [event] = await Conversation(RemoteA2aAgent("oracle", "/nowhere\0/card.json")).say("hi")
    assert "cannot be read" in (event.error_detail or "")


async def test_a_server_that_is_down_is_named_unreachable(server: EchoServer) -> None:
    agent = RemoteA2aAgent("oracle", "http://127.0.0.1:9/card")
    [event] = await Conversation(agent).say("hi")
    assert (event.error_code, event.error_message) == (
        "REMOTE_UNREACHABLE",
        "The other agent cannot be reached. Try again in a moment.",
    )


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(status=500), "REMOTE_UNREACHABLE"),
        (Reply(body=b"<html>"), "REMOTE_UNREADABLE"),
        (Reply(body=b"5"), "REMOTE_UNREADABLE"),
        (ERROR, "REMOTE_REFUSED"),
        (result(5), "REMOTE_UNREADABLE"),
        (result({}), "REMOTE_UNREADABLE"),
        (stream(), "REMOTE_UNREADABLE"),
        (stream("{"), "REMOTE_UNREADABLE"),
        (stream({"task": 5}), "REMOTE_UNREADABLE"),
        (stream({"message": {"parts": [{"text": 5}]}}), "REMOTE_UNREADABLE"),
        (stream('{"jsonrpc": "2.0", "id": 1, "result": {"\\ud800": 1}}'), "REMOTE_UNREADABLE"),
        (
            stream('{"jsonrpc":"2.0","id":1,"result":{"message":{"parts":[{"text":"\\ud800"}]}}}'),
            "REMOTE_UNREADABLE",
        ),
        (stream({"message": {"parts": [{"text": "a" * 1_100_000}]}}), "REMOTE_TOO_LARGE"),
        (stream(*[{"statusUpdate": {}}] * 20_001), "REMOTE_TOO_LARGE"),
        (
            Reply(body=b"data: " + b"a" * 41_000_000, headers={"Content-Type": "text/event-stream"}),
            "REMOTE_TOO_LARGE",
        ),
    ],
)
async def test_an_answer_that_cannot_be_read_is_an_error(server: EchoServer, reply: Reply, code: str) -> None:
    rpc(server, SendStreamingMessage=reply, CancelTask=ERROR, GetTask=ERROR)
    event = await say(server)
    assert event.error_code == code
    assert event.error_message and "secret words" not in event.error_message


async def test_odd_values_are_taken_as_they_are(server: EchoServer) -> None:
    parts = [{"text": "a\0\u202eb"}, {"data": {"n": 1, "x": None}}, {"unknown": 1}, {"url": "javascript:1"}]
    rpc(server, SendStreamingMessage=stream({"message": {"parts": parts}, "unknown": 5}))
    event = await say(server)
    assert event.content and [part.text for part in event.content.parts or []] == [
        "a\0\u202eb",
        '```json\n{\n  "n": 1,\n  "x": null\n}\n```',
        "javascript:1",
    ]


async def test_a_stream_that_stops_in_the_middle_is_taken_up_by_asking_for_the_task(
    server: EchoServer,
) -> None:
    rpc(server, SendStreamingMessage=stream({"task": TASK}), GetTask=result(DONE))
    event = await say(server)
    assert (event.text(), event.error_code) == ("done", None)


async def test_a_server_that_restarts_in_the_middle_of_a_stream_is_asked_for_the_task(
    server: EchoServer,
) -> None:
    broken = replace(stream({"task": TASK}), missing_bytes=1)
    rpc(server, SendStreamingMessage=broken)
    polls = iter([Reply(status=502), Reply(missing_bytes=1), result(DONE)])
    serve = server.routes["/rpc"]
    server.routes["/rpc"] = lambda received: next(polls) if b"GetTask" in received.body else serve(received)
    event = await say(server)
    assert (event.text(), event.error_code) == ("done", None)
    assert next(polls, None) is None


async def test_a_server_that_does_not_come_back_is_given_up(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_client, "POLL_SECONDS", (0.01,))
    broken = replace(stream({"task": TASK}), missing_bytes=1)
    rpc(server, SendStreamingMessage=broken, GetTask=Reply(status=502), CancelTask=ERROR)
    event = await say(server)
    assert event.error_code == "REMOTE_UNREACHABLE"
    methods = [json.loads(one.body)["method"] for one in server.received if one.path == "/rpc"]
    assert methods == ["SendStreamingMessage", *["GetTask"] * remote_client.MAX_FAILED_POLLS, "CancelTask"]


async def test_a_task_that_is_lost_with_its_stream_is_an_error_and_is_cancelled(server: EchoServer) -> None:
    rpc(server, SendStreamingMessage=stream({"task": TASK}), GetTask=ERROR, CancelTask=ERROR)
    event = await say(server)
    assert event.error_code == "REMOTE_REFUSED"
    assert event.custom_metadata and event.custom_metadata["a2a:context_id"] == "c-1"
    methods = [json.loads(one.body)["method"] for one in server.received if one.path == "/rpc"]
    assert methods == ["SendStreamingMessage", "GetTask", "CancelTask"]


async def test_a_task_that_never_ends_is_given_up_and_cancelled(server: EchoServer) -> None:
    rpc(server, SendStreamingMessage=stream({"task": TASK}), GetTask=result(TASK), CancelTask=result(DONE))
    event = await say(server, seconds=1.0)
    assert event.error_code == "REMOTE_TOO_SLOW"
    assert json.loads(server.received[-1].body)["method"] == "CancelTask"


async def test_a_server_that_is_silent_is_given_up(server: EchoServer) -> None:
    rpc(server)

    def silent(received: Received) -> Reply:
        server.released.wait(10)
        return ERROR

    server.routes["/rpc"] = silent
    event = await say(server, seconds=0.5)
    server.released.set()
    assert event.error_code == "REMOTE_TOO_SLOW"
