"""Requests of A2A that are broken or hostile: a JSON-RPC error that says what is wrong, and never a 500."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from sessions_app.models import Invocation, Session
from tests.fakes import ScriptedModel
from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.conftest import http_client

NO_JSON, NO_REQUEST, NO_METHOD, NO_PARAMS, NO_TASK = -32700, -32600, -32601, -32602, -32001


@pytest.fixture
async def http(person: User, site: str) -> AsyncGenerator[httpx.AsyncClient, None]:
    key = await sync_to_async(make_key)(person)
    async with http_client(key) as client:
        client.base_url = httpx.URL(f"{site}/a2a/desk/")
        client.headers["a2a-version"] = "1.0"
        yield client


async def error_of(http: httpx.AsyncClient, body: bytes | dict[str, Any]) -> int:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = await http.post("", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 200, response.text
    code: int = response.json()["error"]["code"]
    return code


def rpc(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def send(*parts: Any, **fields: Any) -> dict[str, Any]:
    said = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [*parts], **fields}
    return rpc("SendMessage", {"message": said})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", NO_JSON),
        (b"{", NO_JSON),
        (b"[]", NO_REQUEST),
        (b"5", NO_REQUEST),
        (b"null", NO_REQUEST),
        (b'"text"', NO_REQUEST),
        (b"[1, 2]", NO_REQUEST),
        (b"{}", NO_REQUEST),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', NO_REQUEST),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "GetTask"}', NO_JSON),
        (rpc("DropTables", {}), NO_METHOD),
        (rpc("GetTask", []), NO_TASK),
        (rpc("GetTask", {}), NO_TASK),
        (rpc("GetTask", {"id": 5}), NO_PARAMS),
        (rpc("SendMessage", {"message": "text"}), NO_PARAMS),
        (send({"text": 5}), NO_PARAMS),
        (send("text"), NO_PARAMS),
        (send({"raw": 5}), NO_PARAMS),
        (send(), NO_PARAMS),
        (send({"text": ""}), NO_PARAMS),
        (send({"text": " "}), NO_PARAMS),
        (send({"text": "a" * 40_000}), NO_PARAMS),
        (send({"text": "a"}, messageId=""), NO_PARAMS),
        (send({"text": "a"}, messageId="x" * 2_000), NO_PARAMS),
        (send({"raw": ""}), NO_PARAMS),
        (send(*[{"raw": "YQ=="}] * 11), NO_PARAMS),
        (rpc("message/send", {"message": {"parts": 5}}), NO_REQUEST),
    ],
)
async def test_a_request_that_cannot_be_read_is_refused(
    http: httpx.AsyncClient, body: bytes | dict[str, Any], code: int
) -> None:
    assert await error_of(http, body) == code
    assert not await Invocation.objects.aexists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\xff\xfe", NO_JSON),
        (b"[" * 100_000, NO_JSON),
        (b'{"a": ' * 50_000, NO_JSON),
        (b'{"id": %s}' % (b"9" * 5_000), NO_JSON),
        (b'{"id": NaN}', NO_REQUEST),
    ],
)
async def test_a_body_that_no_parser_takes_is_no_error_of_the_site(
    http: httpx.AsyncClient, body: bytes, code: int
) -> None:
    assert await error_of(http, body) == code


async def test_a_body_that_is_too_large_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.post("", content=b" " * 22_000_000)
    assert response.status_code == 413


async def test_a_file_that_is_too_large_is_refused(http: httpx.AsyncClient) -> None:
    data = base64.b64encode(b"a" * 11_000_000).decode()
    assert await error_of(http, send({"raw": data, "filename": "big.txt"})) == NO_PARAMS


async def test_odd_texts_and_names_are_taken(http: httpx.AsyncClient, model: ScriptedModel) -> None:
    model.turns.append("a\0b\u202e")
    parts = [{"text": "a\0\u202eb"}, {"raw": "YQ==", "filename": "../\0\u202e"}, {"data": {"items": [None]}}]
    response = await http.post("", json=send(*parts, messageId="items\0", contextId=""))
    task = response.json()["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"][0]["text"] == "a\ufffdb\u202e"


async def test_a_client_of_the_older_protocol_is_served(
    http: httpx.AsyncClient, model: ScriptedModel
) -> None:
    model.turns.append("Good day.")
    said = {
        "messageId": "m-1",
        "role": "user",
        "kind": "message",
        "parts": [{"kind": "text", "text": "Hello"}],
    }
    del http.headers["a2a-version"]
    sent = (await http.post("", json=rpc("message/send", {"message": said}))).json()["result"]
    assert (sent["kind"], sent["status"]["state"]) == ("task", "completed")
    got = (await http.post("", json=rpc("tasks/get", {"id": sent["id"]}))).json()["result"]
    assert got["artifacts"][0]["parts"][0]["text"] == "Good day."
    streamed = await http.post("", json=rpc("message/stream", {"message": said}))
    assert '"state":"completed"' in streamed.text
    cancelled = (await http.post("", json=rpc("tasks/cancel", {"id": sent["id"]}))).json()
    assert cancelled["error"]["code"] == -32002
    followed = await http.post("", json=rpc("tasks/resubscribe", {"id": "unknown"}))
    assert "-32001" in followed.text
    assert await Session.objects.acount() == 1
