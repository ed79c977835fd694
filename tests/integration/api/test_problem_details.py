"""Requests that the site refuses before, or without, an operation: programs read problem details (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.models import Session, ToolJob
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel
from tests.integration.access import APP, make_things
from tests.integration.api.api_stream import open_stream
from tests.integration.api.conftest import Program
from tests.served_agents import Served


def deep(levels: int) -> list[object]:
    """A list within a list, so many levels."""
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


REFUSALS = {
    "GET /api/v1/apps?a=%00": (400, "invalid", "NUL"),
    "GET /adk/%00": (400, "invalid", "NUL"),
    "GET /api/v1/no-such-thing": (404, "not_found", "nothing at this address"),
    "POST /adk/no-such-thing": (404, "not_found", "nothing at this address"),
    "GET /a2a/demo/x/y": (404, "not_found", "nothing at this address"),
    "DELETE /api/v1/apps": (405, "method_not_allowed", "takes GET only"),
    "DELETE /adk/list-apps": (405, "method_not_allowed", "takes GET only"),
}


@pytest.fixture(autouse=True)
def app(served: Served) -> None:
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=ScriptedModel()))
    served(app)


@pytest.mark.parametrize("request_line", REFUSALS)
def test_a_refusal_is_a_problem_for_programs(request_line: str) -> None:
    method, address = request_line.split()
    response = Client().generic(method, address)
    problem = response.json()
    status, code, words = REFUSALS[request_line]
    assert response["Content-Type"] == "application/problem+json"
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert words in problem["detail"]
    assert int(response["Content-Length"]) == len(response.content)


ODD = "\ud800"
HOOK = "https://example.org/hook"
ADK = f"/adk/apps/{APP}/users/ada/sessions"
FIELDS = [
    ("GET /api/v1/apps?a=%00", None, "query"),
    ("GET /adk/apps/%00/users/ada/sessions", None, "path"),
    ("POST /api/v1/sessions/{session}/runs", {"text": " "}, "body.text"),
    ("POST /api/v1/sessions/{session}/runs", {"text": 7}, "body.text"),
    (
        "POST /api/v1/sessions/{session}/runs",
        {"text": "a", "state_delta": {"b": deep(600)}},
        "body.state_delta",
    ),
    ("POST /api/v1/sessions/{session}/files", {}, "body.file"),
    ("GET /api/v1/sessions/{session}/events?after=1&before=3", None, "query.before"),
    ("PATCH /api/v1/sessions/{session}", {"title": " "}, "body.title"),
    ("PATCH /api/v1/sessions/{session}", {"title": "x" * 300}, "body.title"),
    ("POST /api/v1/keys", {"name": " ", "scopes": ["read"]}, "body.name"),
    (
        "POST /api/v1/keys",
        {"name": "a", "scopes": ["read"], "expires_at": "2001-01-01T00:00:00Z"},
        "body.expires_at",
    ),
    ("POST /api/v1/webhooks", {"url": "https://10.0.0.1/", "events": ["run.ended"]}, "body.url"),
    (
        "POST /api/v1/webhooks",
        {"url": HOOK, "events": ["run.ended"], "is_of_group": True},
        "body.is_of_group",
    ),
    (
        "POST /api/v1/webhooks",
        {"url": HOOK, "events": ["run.ended"], "is_of_group": True, "user_id": "ada"},
        "body.user_id",
    ),
    ("POST /api/v1/sessions/{session}/runs", {"text": "a", "client_id": "job:1"}, "body.client_id"),
    (f"POST {ADK}", {"state": {"a": ODD}}, "body.state"),
    (f"POST {ADK}", {"events": [{"author": "user", "timestamp": -1}]}, "body.events"),
    (f"POST {ADK}/s2", {"a": deep(600)}, "body"),
    (f"POST {ADK}/{'s' * 300}", {}, "path.session_id"),
    (f"POST {ADK}", {"state": {"a": deep(600)}}, "body.state"),
    (f"POST {ADK}", {"sessionId": "s" * 500}, "body.sessionId"),
    (f"PATCH {ADK}/s1", {"stateDelta": {"a": ODD}}, "body.stateDelta"),
    (f"GET {ADK}/s1/artifacts/a.txt/versions/x", None, "path.version_id"),
]


@pytest.mark.parametrize(("request_line", "body", "field"), FIELDS, ids=lambda value: str(value)[:60])
async def test_a_refusal_names_the_field(
    program: Program, person: User, request_line: str, body: object, field: str
) -> None:
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1")
    method, address = request_line.format(session=session.pk).split()
    response = await program.generic(method, address, json.dumps(body or {}), "application/json")
    assert response.status_code in (400, 422)
    assert [error["field"] for error in response.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("request_line", "body", "sentence"),
    [
        ("POST /api/v1/sessions", b"[" * 100_000, "The body is no JSON: its values are nested too deeply."),
        (
            "POST /api/v1/sessions",
            b'{"app": ' + b"7" * 4_301 + b"}",
            "The body is no JSON: an integer has more than 4300 digits.",
        ),
        (
            "GET /api/v1/sessions/{session}/events?after=1&before=3",
            b"",
            "query.before: send either after or before.",
        ),
    ],
    ids=["nested", "long number", "two directions"],
)
async def test_a_refusal_has_a_sentence_of_the_site(
    program: Program, person: User, request_line: str, body: bytes, sentence: str
) -> None:
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1")
    method, address = request_line.format(session=session.pk).split()
    response = await program.generic(method, address, body, "application/json")
    assert response.json()["detail"] == sentence


MESSAGE = {"parts": [{"text": "Hi"}]}
ANSWER = {"functionResponse": {"id": "c", "name": "f", "response": {}}}


@pytest.mark.parametrize(
    ("ask", "key", "field"),
    [
        ({"newMessage": {"parts": [{"text": " "}]}}, "k", "body.newMessage"),
        (
            {"newMessage": {"parts": [{"inlineData": {"mimeType": "text/plain", "data": ""}}]}},
            "k",
            "body.newMessage",
        ),
        ({"newMessage": {"parts": [ANSWER, ANSWER]}}, "k", "body.newMessage"),
        ({}, "k", "body.newMessage"),
        ({"newMessage": "Hi"}, "k", "body.newMessage"),
        ({"newMessage": {"parts": [{"colour": 1}]}}, "k", "body.newMessage.parts.0.colour"),
        ({"newMessage": MESSAGE, "streaming": "perhaps"}, "k", "body.streaming"),
        ({"newMessage": MESSAGE, "stateDelta": {"a": "x" * 300_000}}, "k", "body.stateDelta"),
        ({"newMessage": MESSAGE}, "job:1", "header.Idempotency-Key"),
        ({"newMessage": MESSAGE}, "x" * 200, "header.Idempotency-Key"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_a_refusal_of_a_run_names_the_field_as_adk_does(
    program: Program, person: User, ask: dict[str, object], key: str, field: str
) -> None:
    await Session.objects.acreate(app_name=APP, user=person, key="s1")
    body = {"appName": APP, "userId": "ada", "sessionId": "s1", **ask}
    sent = {**program.sent, "content-type": "application/json", "idempotency-key": key}
    async with open_stream("/adk/run", sent, method="POST", body=body) as response:
        problem = json.loads(await response.rest())
    assert [error["field"] for error in problem["errors"]] == [field]


TOO_MUCH = [
    ("runs", {"text": "x" * 40_000}, "text"),
    ("runs", {"text": "a", "state_delta": {"a": "x" * 300_000}}, "state_delta"),
    ("files", {"file": SimpleUploadedFile("a.txt", b"four")}, "file"),
]


@pytest.mark.parametrize(("path", "sent", "field"), TOO_MUCH, ids=["text", "state", "file"])
async def test_too_much_is_413_and_names_the_field(
    program: Program,
    person: User,
    configure: Callable[..., None],
    path: str,
    sent: dict[str, Any],
    field: str,
) -> None:
    configure(upload_bytes=3)
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1")
    options: dict[str, Any] = {} if "file" in sent else {"content_type": "application/json"}
    response = await program.post(f"/api/v1/sessions/{session.pk}/{path}", sent, **options)
    problem = response.json()
    assert (response.status_code, problem["code"]) == (413, "too_large")
    assert [error["field"] for error in problem["errors"]] == [f"body.{field}"]


async def test_a_refusal_of_an_approval_names_the_field(program: Program, person: User) -> None:
    asked = (await in_thread(make_things, person)).rows["answerrequest"]
    body = json.dumps({"answer": "yes"})
    response = await program.post(
        f"/api/v1/approvals/{asked.pk}/answer", body, content_type="application/json"
    )
    assert [error["field"] for error in response.json()["errors"]] == ["body.answer"]


NEGOTIATED = ("GET /api/v1/apps", "POST /api/v1/sessions", "GET /api/v1/openapi.json")


@pytest.mark.parametrize("request_line", NEGOTIATED)
async def test_a_response_that_the_program_does_not_accept_is_refused_before_a_write(
    program: Program, request_line: str
) -> None:
    method, address = request_line.split()
    body = {"app": "no-such-app"}  # would be 404
    for accept, is_refused in {"image/png": True, "text/html, application/*;q=0.5": False}.items():
        response = await program.generic(
            method, address, json.dumps(body), "application/json", headers={"accept": accept}
        )
        assert (response.status_code == 406) is is_refused
        if is_refused:
            problem = response.json()
            assert (problem["code"], "application/json" in problem["detail"]) == ("not_acceptable", True)


async def test_a_stream_is_refused_to_a_program_that_does_not_accept_it(program: Program) -> None:
    sent = {**program.sent, "accept": "application/json"}
    async with open_stream(f"/api/v1/sessions/{uuid4()}/stream", sent) as stream:
        assert stream.status == 406


def test_a_host_that_is_not_the_sites_is_a_problem_for_programs_and_a_page_for_people() -> None:
    kinds = [Client().get(path, headers={"host": "a.b"})["Content-Type"] for path in ("/api/v1/me", "/")]
    assert kinds == ["application/problem+json", "text/html; charset=utf-8"]


async def test_a_refusal_of_an_answer_to_a_job_names_the_field(program: Program, person: User) -> None:
    session = await Session.objects.acreate(app_name=APP, user=person, key="s1")
    question = {
        "text": "Which?",
        "kind": "choice",
        "options": ["red", "blue"],
        "asked_at": "2026-01-01T00:00:00Z",
    }
    names = {
        "invocation_id": "e-1",
        "call_id": "c-1",
        "tool_name": "paint",
        "task_name": "t",
        "agent_name": "a",
    }
    job = await ToolJob.objects.acreate(session=session, **names, status="waiting", question=question)
    body = json.dumps({"number": 0, "answer": "green"})
    response = await program.post(f"/api/v1/jobs/{job.pk}/answer", body, content_type="application/json")
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == ["body.answer"]
