"""Files over ADK's addresses: names with slashes, versions, contents as parts, metadata; memory and spans."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from runtime import types
from sessions_app.models import Event, Session
from sessions_app.store.artifact_service import DjangoArtifactService
from tests.integration.access import APP
from tests.integration.api.adk.conftest import SESSIONS, Send
from tests.integration.api.api_stream import open_stream
from tests.integration.api.conftest import Program

pytestmark = pytest.mark.django_db(transaction=True)
FILES = f"{SESSIONS}/s1/artifacts"
BYTES = bytes(range(256))


async def save(person: User, name: str, *parts: types.Part) -> None:
    for part in parts:
        names = {"app_name": APP, "user_id": str(person.pk), "session_id": "s1"}
        await DjangoArtifactService().save_artifact(**names, filename=name, artifact=part)


@pytest.fixture
async def session(person: User) -> Session:
    return await Session.objects.acreate(app_name=APP, user=person, key="s1")


@pytest.mark.parametrize(
    "name", ["a.bin", "out/b c/versions.bin", "user:x", "items", "x/versions/7/y", "a\nb"]
)
async def test_a_file_is_found_by_its_name_and_version(
    send: Send, session: Session, person: User, name: str
) -> None:
    blob = types.Blob(data=BYTES, mime_type="application/x-odd")
    await save(person, name, types.Part(text="Hi"), types.Part(inline_data=blob))
    file = f"{FILES}/{quote(name)}"
    shown = {
        "inlineData": {"data": base64.urlsafe_b64encode(BYTES).decode(), "mimeType": "application/x-odd"}
    }
    assert await send("GET", FILES) == (200, [name])
    assert await send("GET", f"{file}/versions") == (200, [0, 1])
    assert await send("GET", f"{file}/versions/0") == (200, {"text": "Hi"})
    for newest in (file, f"{file}?version=1", f"{file}/versions/1", f"{file}/versions/latest"):
        assert await send("GET", newest) == (200, shown)
    status, metadata = await send("GET", f"{file}/versions/metadata")
    assert status == 200
    assert [(one["version"], one["mimeType"]) for one in metadata] == [
        (0, "text/plain"),
        (1, "application/x-odd"),
    ]
    assert await send("GET", f"{file}/versions/latest/metadata") == (200, metadata[1])
    assert metadata[0].keys() == {"version", "canonicalUri", "customMetadata", "createTime", "mimeType"}
    address = metadata[0]["canonicalUri"].removeprefix("http://testserver")
    assert await send("GET", address) == (200, {"text": "Hi"})


async def test_a_name_has_any_letters(
    program: Program, session: Session, person: User, loop_end: None
) -> None:
    await save(person, "é\u202e.txt", types.Part(text="Hi"))
    async with open_stream(f"{FILES}/é\u202e.txt", program.sent) as response:
        assert json.loads(await response.rest()) == {"text": "Hi"}


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("none", 404),
        ("a.txt/versions/1", 404),
        ("a.txt/versions/-1", 422),
        ("a.txt/versions/x", 422),
        (f"a.txt/versions/{'9' * 5000}", 422),
        ("a.txt?version=x", 422),
        (f"a.txt?version={'9' * 30}", 404),
        ("\ud800".encode("utf-8", "surrogatepass").hex("%"), 404),
    ],
)
async def test_a_file_that_is_not_there_is_not_found(
    send: Send, session: Session, person: User, rest: str, status: int
) -> None:
    await save(person, "a.txt", types.Part(text="Hi"))
    assert (await send("GET", f"{FILES}/{rest}"))[0] == status


async def test_what_was_said_is_remembered_and_found(send: Send, session: Session) -> None:
    content = {"role": "user", "parts": [{"text": "The cat is called Tom."}]}
    body = {"id": "1", "author": "user", "timestamp": 1.5, "content": content}
    await Event.objects.acreate(session=session, seq=1, body=body)
    await Session.objects.aupdate(last_seq=1)
    memory = f"/adk/apps/{APP}/users/ada/memory"
    assert await send("PATCH", memory, {"sessionId": "s1"}) == (200, None)
    status, found = await send("GET", f"{memory}?query=cat")
    assert status == 200
    entry = {"content": content, "id": "1", "author": "user", "custom_metadata": {}}
    assert found == {"memories": [{**entry, "timestamp": "1970-01-01T00:00:01.500000+00:00"}]}
    assert await send("GET", f"{memory}?query=dog") == (200, {"memories": []})
    assert (await send("PATCH", memory, {"sessionId": "none"}))[0] == 404
    assert (await send("PATCH", memory, {"sessionId": "\0"}))[0] == 404
    assert (await send("PATCH", memory, {}))[0] == 422


async def test_the_spans_of_a_session_tell_times_and_no_texts(send: Send, session: Session) -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
    call = {"functionCall": {"id": "c", "name": "look", "args": {"secret": "text"}}}
    answer = {"functionResponse": {"id": "c", "name": "look", "response": {"secret": "text"}}}
    bodies: list[dict[str, Any]] = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "secret"}]}},
        {"author": APP, "modelVersion": "m-1", "content": {"role": "model", "parts": [call]}},
        {"author": APP, "content": {"role": "user", "parts": [answer]}},
        {"author": APP, "modelVersion": "m-1", "content": {"role": "model", "parts": [{"text": "secret"}]}},
    ]
    for seq, body in enumerate(bodies, 1):
        stored = {**body, "id": f"ev-{seq}", "invocationId": "e-1", "timestamp": at + seq}
        await Event.objects.acreate(session=session, seq=seq, body=stored)
    status, spans = await send("GET", f"/adk/dev/apps/{APP}/debug/trace/session/s1")
    assert status == 200
    root, agent, *steps = spans
    assert [one["name"] for one in spans] == [
        "invocation",
        f"invoke_agent {APP}",
        "generate_content m-1",
        "execute_tool look",
        "generate_content m-1",
    ]
    assert (root["parent_span_id"], agent["parent_span_id"]) == (None, root["span_id"])
    assert {one["parent_span_id"] for one in steps} == {agent["span_id"]}
    assert len({one["span_id"] for one in spans}) == 5
    assert [one["attributes"]["gcp.vertex.agent.event_id"] for one in steps] == ["ev-2", "ev-3", "ev-4"]
    assert {one["attributes"]["gen_ai.conversation.id"] for one in spans} == {"s1"}
    assert {one["attributes"]["gcp.vertex.agent.invocation_id"] for one in spans} == {"e-1"}
    assert all(isinstance(one["start_time"], int) and one["start_time"] <= one["end_time"] for one in spans)
    assert "secret" not in str(spans)
    assert await send("GET", f"/adk/dev/apps/{APP}/debug/trace/session/none") == (200, [])
