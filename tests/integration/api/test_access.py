"""Access matrix of the HTTP API: each operation, the scope that a key needs, and what strangers and owners get.

A new operation without a row fails here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient
from django.utils import timezone
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.api.adk.adk_api import adk_api
from sessions_app.api.site_api import site_api
from sessions_app.api.streaming_api import StreamingApi
from sessions_app.models import Scope
from tests.fakes import ScriptedModel
from tests.integration.access import APP, Things, make_things
from tests.integration.api import access_of_v1
from tests.integration.api.api_stream import cookies, open_stream
from tests.integration.api.conftest import Program, make_key
from tests.served_agents import Served

# `scope` has those that a key needs. `stranger` is another person, and a key of another person with all scopes.
TABLE = """
method scope   stranger owner address

GET    -       200      200   /api/v1/me
GET    read    200      200   /api/v1/apps

POST   run     404      202   /api/v1/sessions/{session_id}/runs
GET    read    404      200   /api/v1/sessions/{session_id}/stream
GET    read    404      200   /api/v1/runs/{run_id}
GET    read    404      200   /api/v1/runs/{run_id}/stream

GET    manage  200      200   /api/v1/keys
POST   manage  201      201   /api/v1/keys
DELETE manage  404      204   /api/v1/keys/{key_id}
GET    manage  200      200   /api/v1/webhooks
POST   manage  201      201   /api/v1/webhooks
DELETE manage  404      204   /api/v1/webhooks/{webhook_id}
POST   manage  404      409   /api/v1/webhooks/{webhook_id}/test
GET    manage  404      200   /api/v1/webhooks/{webhook_id}/deliveries

GET    read    200      200   /adk/list-apps
GET    read    200      200   /adk/dev/apps/{app_name}/build_graph
GET    read    200      200   /adk/dev/apps/{app_name}/build_graph_image
GET    -       200      200   /adk/version
GET    -       200      200   /adk/config/telemetry
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions
POST   read+manage 404  200   /adk/apps/{app_name}/users/{user_id}/sessions
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}
POST   read+manage 404  409   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}
PATCH  read+manage 404  200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}
DELETE manage  404      409   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions/metadata
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions/{version_id}
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions/{version_id}/metadata
GET    read    404      200   /adk/apps/{app_name}/users/{user_id}/memory
PATCH  manage  404      200   /adk/apps/{app_name}/users/{user_id}/memory
GET    read    200      200   /adk/dev/apps/{app_name}/debug/trace/session/{session_id}
GET    -       403      403   /adk/dev/apps/{app_name}/eval_sets
GET    -       403      403   /adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals
GET    -       403      403   /adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals/{eval_case_id}
PUT    -       403      403   /adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals/{eval_case_id}
DELETE -       403      403   /adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals/{eval_case_id}
POST   -       403      403   /adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/add_session
POST   -       403      403   /adk/dev/apps/{app_name}/eval-sets
DELETE -       403      403   /adk/dev/apps/{app_name}/eval-sets/{eval_set_id}
POST   -       403      403   /adk/dev/apps/{app_name}/eval-sets/{eval_set_id}/run
GET    -       403      403   /adk/dev/apps/{app_name}/metrics-info
GET    -       403      403   /adk/dev/apps/{app_name}/eval_results
GET    -       403      403   /adk/dev/apps/{app_name}/eval_results/{eval_result_id}
POST   run     404      200   /adk/run
POST   run     404      200   /adk/run_sse
"""  # noqa: E501
WITHOUT_ACCESS = {
    **dict.fromkeys(
        (
            "GET /adk/dev/apps/{app_name}/build_graph",
            "GET /adk/dev/apps/{app_name}/build_graph_image",
            "POST /adk/apps/{app_name}/users/{user_id}/sessions",
            "POST /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}",
            "POST /api/v1/sessions",
        ),
        "404",
    ),
    **dict.fromkeys(
        (
            "PATCH /adk/apps/{app_name}/users/{user_id}/sessions/{session_id}",
            "POST /adk/run",
            "POST /api/v1/sessions/{session_id}/runs",
            "POST /api/v1/sessions/{session_id}/switch",
            "POST /api/v1/sessions/{session_id}/files",
            "POST /api/v1/runs/{run_id}/retry",
            "POST /api/v1/runs/{run_id}/edit",
            "POST /api/v1/runs/{run_id}/rewind",
            "POST /api/v1/runs/{run_id}/responses",
            "POST /api/v1/approvals/{approval_id}/answer",
            "POST /api/v1/jobs/{job_id}/answer",
        ),
        "403",
    ),
}
"""What the owner gets who may not use the agent (any more), where this is not what the table says of the owner."""
TO_HIDDEN = {
    "GET /adk/dev/apps/{app_name}/build_graph": "404",
    "GET /adk/dev/apps/{app_name}/build_graph_image": "404",
    "POST /api/v1/sessions": "404",
    # Not about a conversation: the owner's account.
    "DELETE /api/v1/keys/{key_id}": "204",
    "DELETE /api/v1/webhooks/{webhook_id}": "204",
    "POST /api/v1/webhooks/{webhook_id}/test": "409",
    "GET /api/v1/webhooks/{webhook_id}/deliveries": "200",
}
"""What the owner gets of a hidden agent, where this is not what the table says of a stranger."""
RUN = {
    "appName": "{app_name}",
    "userId": "{user_id}",
    "sessionId": "{session_id}",
    "newMessage": {"role": "user", "parts": [{"text": "Hello."}]},
}
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/api/v1/webhooks"): {"url": "https://example.org/hook", "events": ["run.ended"]},
    ("POST", "/api/v1/keys"): {"name": "Laptop", "scopes": ["manage"]},
    ("POST", "/adk/dev/apps/{app_name}/eval-sets"): {"evalSet": {"evalSetId": "written"}},
    ("POST", "/adk/dev/apps/{app_name}/eval-sets/{eval_set_id}/run"): {"evalMetrics": []},
    ("POST", "/adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/add_session"): {
        "evalId": "one",
        "userId": "{user_id}",
        "sessionId": "{session_id}",
    },
    ("PUT", "/adk/dev/apps/{app_name}/eval_sets/{eval_set_id}/evals/{eval_case_id}"): {
        "evalId": "{eval_case_id}",
        "conversation": [],
    },
    ("POST", "/adk/run"): RUN,
    ("POST", "/adk/run_sse"): RUN,
    ("POST", "/api/v1/sessions/{session_id}/runs"): {"text": "Hello."},
    ("PATCH", "/adk/apps/{app_name}/users/{user_id}/sessions/{session_id}"): {"stateDelta": {"a": 1}},
    ("PATCH", "/adk/apps/{app_name}/users/{user_id}/memory"): {"sessionId": "{session_id}"},
}
"""Body of a request, as JSON, by method and address."""
ALL_BODIES = {**BODIES, **access_of_v1.BODIES}
ADK_SEGMENTS = {
    "user_id": ("user", "username"),
    "session_id": ("session", "key"),
    "artifact_name": ("artifact", "filename"),
    "version_id": ("artifact", "version"),
}
"""Model and attribute of the placeholders that ADK's addresses have."""
APIS: tuple[StreamingApi, ...] = (site_api, adk_api)
STREAMS = {stream.path for api in APIS for stream in api.streams}


@dataclass(frozen=True)
class Row:
    """Expected statuses of one operation."""

    method: str
    scope: str
    stranger: str
    owner: str
    address: str

    @property
    def scopes(self) -> list[str]:
        """The scopes that a key needs."""
        return [] if self.scope == "-" else self.scope.split("+")


def rows() -> list[Row]:
    return [
        Row(*line.split()) for line in (TABLE.strip() + access_of_v1.ROWS).splitlines()[1:] if line.strip()
    ]


def operations() -> Iterator[tuple[str, str]]:
    for api in APIS:
        for path, methods in api.get_openapi_schema()["paths"].items():
            yield from ((method.upper(), path) for method in methods)


def test_each_operation_has_a_row() -> None:
    known = {(row.method, row.address) for row in rows()}
    assert sorted(set(operations()) - known) == []
    assert sorted(known - set(operations())) == []


def segment(name: str, things: Things, address: str) -> str:
    segments = ADK_SEGMENTS if address.startswith("/adk/") else access_of_v1.SEGMENTS
    if name not in segments:
        return things.segment("", name)
    model, attribute = segments[name]
    return str(getattr(things.rows[model], attribute))


def request_of(row: Row, things: Things) -> tuple[str, str]:
    """Address and body of a request about the things."""
    body = "" if row.method == "GET" else json.dumps(ALL_BODIES.get((row.method, row.address), {}))
    path, data = (
        re.sub(r"\{(\w+)\}", lambda found: quote(segment(found[1], things, row.address)), text)
        for text in (row.address, body)
    )
    query = access_of_v1.QUERIES.get((row.method, row.address))
    return f"{path}?{query}" if query else path, data


async def send(client: AsyncClient, row: Row, things: Things) -> str:
    path, data = await sync_to_async(request_of)(row, things)
    if row.address in STREAMS:
        return await status_of_stream(row.method, path, client, data.encode())
    operation = (row.method, row.address)
    response: Any = (
        await client.post(path, {"file": SimpleUploadedFile("a.txt", b"Hello")})
        if operation in access_of_v1.UPLOADS
        else await client.generic(row.method, path, data, content_type="application/json")
    )
    if response.streaming:
        assert [piece async for piece in response.streaming_content]
    return str(response.status_code)


async def status_of_stream(method: str, path: str, client: AsyncClient, body: bytes) -> str:
    key = client.sent if isinstance(client, Program) else {}
    headers = {"sec-fetch-site": "same-origin", **key, **cookies(client)}
    async with open_stream(path, headers, method=method, body=body) as stream:
        return str(stream.status)


@pytest.fixture
def app_is_served(loop_end: None, served: Served) -> None:
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=ScriptedModel()))
    served(app)


class Callers:
    """The callers of the operations: each is made once, as are keys with the same scopes."""

    def __init__(self, owner: User, stranger: User) -> None:
        self._owner, self._stranger = owner, stranger
        self._made: dict[object, AsyncClient] = {}

    async def refused(self, row: Row) -> dict[str, tuple[AsyncClient, str]]:
        """Return those who may not do what the owner may, with the status that each gets."""
        revoked_at = timezone.now() - timedelta(seconds=1)
        callers = {
            "nobody": (AsyncClient(raise_request_exception=False), "401"),
            "a revoked key": (await self.key(self._owner, revoked_at=revoked_at), "401"),
            "a stranger": (await self.signed_in(self._stranger), row.stranger),
            "a stranger's key": (await self.key(self._stranger), row.stranger),
        }
        for one in row.scopes:
            others = [scope for scope in Scope.values if scope != one]
            callers[f"a key without {one}"] = (await self.key(self._owner, *others), "403")
        return callers

    async def admitted(self, row: Row) -> dict[str, tuple[AsyncClient, str]]:
        """Return the owner and a key of the owner, with the status that both get."""
        return {
            "the owner": (await self.signed_in(self._owner), row.owner),
            "a key with the scopes": (await self.key(self._owner, *(row.scopes or ["read"])), row.owner),
        }

    async def signed_in(self, user: User) -> AsyncClient:
        if user not in self._made:
            client = self._made[user] = AsyncClient(raise_request_exception=False)
            await client.aforce_login(user)
        return self._made[user]

    async def key(self, user: User, *scopes: str, **fields: Any) -> AsyncClient:
        name = (user, scopes, *fields)
        if name not in self._made:
            self._made[name] = Program(await sync_to_async(make_key)(user, *scopes, **fields))
        return self._made[name]


async def answers_to(row: Row, callers: Callers, things: Things, settings: Settings) -> dict[str, list[str]]:
    """Return what each caller gets and what the table says, where these differ.

    All of the refused ask about the same things, which the first of the admitted finds as they were.
    """
    owner, owner_gets = (await callers.admitted(row))["the owner"]
    got: dict[str, list[str]] = {}
    for name, (client, status) in (await callers.refused(row)).items():
        got[name] = [await send(client, row, things), status]
    for name, (client, status) in (await callers.admitted(row)).items():
        got[name] = [await send(client, row, things), status]
        things = await things_after(row, things)
    operation = f"{row.method} {row.address}"
    expected = {
        "permission": WITHOUT_ACCESS.get(operation, owner_gets),
        "hidden": TO_HIDDEN.get(operation, row.stranger),
    }
    usual = settings.ADK
    for access, status in expected.items():
        settings.ADK = {**usual, "apps": {APP: {"access": access}}}
        got[f"the owner, of an agent with the access {access}"] = [await send(owner, row, things), status]
        settings.ADK = usual
        things = await things_after(row, things)
    return {name: statuses for name, statuses in got.items() if statuses[0] != statuses[1]}


async def things_after(row: Row, things: Things) -> Things:
    """Return things as they were before the request; reading changes none."""
    if row.method == "GET":
        return things
    return await sync_to_async(make_things)(things.session.user)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_each_caller_gets_what_the_table_says(
    app_is_served: None, settings: Settings, configure: Callable[..., None], method: str
) -> None:
    configure(max_frames_per_user=0, max_frames_per_address=0)
    owner, stranger = [await User.objects.acreate_user(name) for name in ("ada", "eve")]
    callers = Callers(owner, stranger)
    things = await sync_to_async(make_things)(owner)
    wrong = {}
    for row in rows():
        if row.method == method:
            wrong[row.address] = await answers_to(row, callers, things, settings)
            things = await things_after(row, things)
    assert wrong
    assert {address: answers for address, answers in wrong.items() if answers} == {}
