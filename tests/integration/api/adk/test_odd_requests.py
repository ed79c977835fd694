"""Each of ADK's addresses with odd names, queries and bodies: the answer is below 500."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from sessions_app.api.adk.adk_api import adk_api
from sessions_app.models import Session
from tests.integration.access import APP
from tests.integration.api.api_stream import open_stream
from tests.integration.api.conftest import Program

pytestmark = pytest.mark.django_db(transaction=True)
OPERATIONS = [
    (method.upper(), path)
    for path, methods in adk_api.get_openapi_schema()["paths"].items()
    for method in methods
]
NAMES = ("\0", "\u202e", "items", "..", "a\nb", "a/b", "x" * 300, "9" * 5000, "²", "'", "%00", "-1", "latest")
BODIES = (
    b"",
    b"{",
    b"\xff",
    b"[]",
    b"null",
    b"[" * 50_000,
    b'{"sessionId": "\\ud800", "userId": "ada", "appName": "echo"}',
    b'{"sessionId": {}, "state": [], "events": {}, "stateDelta": 1}',
    b'{"state": {"a": NaN}, "stateDelta": {"a": Infinity}}',
    b'{"stateDelta": {"a\\u0000": "\\udc00"}, "state": {"": 1e999}}',
    b'{"events": [{"timestamp": -1e300, "content": {"parts": [{"text": "\\u0000\\ud800"}]}}]}',
    b'{"appName": "echo", "userId": "ada", "sessionId": "s1", "newMessage": {"parts": []}}',
    b'{"appName": "echo", "userId": "ada", "sessionId": "s1", "newMessage": {"parts": [{"inlineData": {}}]}}',
)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_odd_requests_are_answered(
    program: Program,
    person: User,
    loop_end: None,
    configure: Callable[..., None],
    method: str,
    path: str,
) -> None:
    configure(
        max_frames_per_user=0,
        max_frames_per_address=0,
        max_new_sessions_per_user=0,
        max_new_sessions_per_address=0,
    )
    await Session.objects.acreate(app_name=APP, user=person, key="s1")
    own = {"{app_name}": APP, "{user_id}": "ada", "{session_id}": "s1"}
    known = re.sub(r"\{\w+\}", lambda found: own.get(found[0], "0"), path)
    addresses = [known]
    for name in NAMES:
        addresses += [re.sub(r"\{\w+\}", name.replace("\\", ""), path), known.replace("s1", name)]
        addresses.append(f"{known}?version={name}&query={name}&detailed={name}".replace("\n", "%0A"))
    statuses = {}
    for address in dict.fromkeys(addresses):  # without a placeholder some are the same
        statuses[address] = await status_of(program, method, address, b"{}")
    for body in BODIES if method != "GET" else ():
        statuses[repr(body)] = await status_of(program, method, known, body)
    assert {text: status for text, status in statuses.items() if status in (401, 429) or status >= 500} == {}


async def status_of(program: Program, method: str, address: str, body: bytes) -> int:
    path, _, query = address.partition("?")
    headers = {**program.sent, "content-type": "application/json", "content-length": str(len(body))}
    query = query.encode("utf-8").decode("latin-1").encode("ascii", "replace").decode()
    async with open_stream(f"{path}?{query}", headers, method=method, body=body) as response:
        return int(response.status)
