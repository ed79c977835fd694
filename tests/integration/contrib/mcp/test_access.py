"""Who may do what at the address of the MCP server, and requests that no client sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.test import AsyncClient
from django.utils import timezone
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from sessions_app.contrib.mcp.authorization import APPLICATIONS
from sessions_app.contrib.mcp.endpoint import ROUTE
from sessions_app.live.process import live
from sessions_app.models import ApiKey, Invocation, Session
from sessions_app.routing import STREAMS
from sessions_app.sessions.agent_access import create_permissions
from tests.fakes import ScriptedModel, call
from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.test_task_access import Waits
from tests.integration.contrib.mcp.clients import Tasks, send, session_of, texts_of, until
from tests.integration.contrib.mcp.conftest import client_of
from tests.integration.contrib.mcp.test_tasks import HELLO, begun, waiting
from tests.integration.contrib.mcp.test_tools import CONFIRMED, answering

__all__ = ["waiting"]
LEGACY = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def rpc(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def http_with(key: str = "", **headers: str) -> httpx2.AsyncClient:
    sent = LEGACY | headers | ({"authorization": f"Bearer {key}"} if key else {})
    return httpx2.AsyncClient(headers=sent, timeout=30)


def test_there_is_no_other_address() -> None:
    """The rows of the access matrix are the tests of this file; those of the sign-in are in `test_oauth.py`."""
    routes = {route for route in STREAMS if route.startswith(("mcp", ".well-known"))}
    assert routes == {ROUTE, *APPLICATIONS}


async def test_only_a_key_opens_it(person: User, site: str, browser: AsyncClient) -> None:
    cookie = f"sessionid={browser.cookies['sessionid'].value}"
    for http in (http_with(), http_with("adk_wrong"), http_with(origin=site, cookie=cookie)):
        async with http:
            refused = await http.post(f"{site}/mcp", json=rpc())
            challenge = f'Bearer resource_metadata="{site}/.well-known/oauth-protected-resource/mcp"'
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, challenge)
    key = await sync_to_async(make_key)(person)
    async with http_with(key) as http:
        assert (await http.post(f"{site}/mcp", json=rpc())).status_code == 200
        for method in ("GET", "DELETE", "PUT"):
            refused = await http.request(method, f"{site}/mcp")
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert (await http.post(f"{site}/mcp/", json=rpc())).status_code in (403, 404)


async def test_pages_of_other_sites_are_refused_and_hosts_that_are_not_ours(person: User, site: str) -> None:
    key = await sync_to_async(make_key)(person)
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example"}):
        async with http_with(key, **headers) as http:
            assert (await http.post(f"{site}/mcp", json=rpc())).status_code == 403
    async with http_with(key, origin=site) as http:
        assert (await http.post(f"{site}/mcp", json=rpc())).status_code == 200


async def test_requests_above_the_rate_are_refused(
    person: User, site: str, configure: Callable[..., None]
) -> None:
    configure(max_frames_per_user=1)
    key = await sync_to_async(make_key)(person)
    async with http_with(key) as http:
        assert (await http.post(f"{site}/mcp", json=rpc())).status_code == 200
        refused = await http.post(f"{site}/mcp", json=rpc())
    assert (refused.status_code, refused.json()["code"]) == (429, "limit")
    assert int(refused.headers["retry-after"]) > 0


@pytest.mark.parametrize("tools", [CONFIRMED])
@pytest.mark.parametrize("scope", ["read", "run", "answer", "manage"])
async def test_a_key_may_do_what_its_scope_allows(
    person: User, site: str, model: ScriptedModel, scope: str
) -> None:
    model.turns += [call("refund", euros=5), "Done."]
    options: dict[str, Any] = {
        "extensions": [Tasks()],
        "elicitation_callback": answering("accept", {}, []),
    }
    async with client_of(person, site, **options) as owner:
        task = await begun(owner)
        [key] = (await until(owner.session, task.task_id, "input_required"))["inputRequests"]
    may = set()
    async with client_of(person, site, scope, **options) as client:
        assert (await client.list_tools()).tools
        methods: dict[str, dict[str, Any]] = {
            "tasks/get": {},
            "tasks/update": {"input_responses": {}},
            "tasks/cancel": {},
        }
        for method, params in methods.items():
            try:
                await send(client.session, method, task.task_id, **params)
                may.add(method)
            except MCPError as error:
                assert "lacks the scope" in str(error)
    if scope != "run":
        async with client_of(person, site, scope) as client:
            refused = await client.call_tool("desk", HELLO)
            assert (refused.is_error, texts_of(refused)) == (True, [texts_of(refused)[0]])
            assert "lacks the scope “run”" in texts_of(refused)[0]
    assert may == ({"tasks/get"} if scope == "read" else set())
    assert key and await Invocation.objects.acount() == 1
    async with client_of(person, site, "read", "answer", **options) as client:
        no = ElicitResult(action="decline")
        await send(client.session, "tasks/update", task.task_id, input_responses={key: no})


async def test_agents_are_for_people_who_may_use_them(
    person: User, site: str, model: ScriptedModel, configure: Callable[..., None]
) -> None:
    model.turns.append("Hello.")
    async with client_of(person, site) as client:
        session_id = session_of(await client.call_tool("desk", HELLO))
    configure(apps={"desk": {"access": "permission"}, "private": {"access": "hidden"}})
    await sync_to_async(create_permissions)()
    async with client_of(person, site) as client:
        assert (await client.list_tools()).tools == []
        for name in ("desk", "private", "nobody", "", "\0", "\u202e"):
            for arguments in (HELLO, {**HELLO, "session_id": session_id}):
                with pytest.raises(MCPError, match="no such agent here, or you may not use it"):
                    await client.call_tool(name, arguments)
    await person.user_permissions.aadd(await Permission.objects.aget(codename="use_desk"))
    model.turns.append("Again.")
    async with client_of(person, site) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["desk"]
        assert texts_of(await client.call_tool("desk", HELLO)) == ["Again."]


async def test_a_session_of_somebody_else_is_as_unknown_as_none(
    person: User, site: str, model: ScriptedModel
) -> None:
    model.turns.append("Secret.")
    async with client_of(person, site) as client:
        session_id = session_of(await client.call_tool("desk", HELLO))
    eve = await sync_to_async(User.objects.create_user)("eve")
    told = set()
    async with client_of(eve, site) as client:
        for unknown in (session_id, "00000000-0000-4000-8000-000000000000", "\0", "no uuid", "\u202e"):
            refused = await client.call_tool("desk", {**HELLO, "session_id": unknown})
            assert refused.is_error
            told.add(texts_of(refused)[0])
    assert len(told) == 1 and await Session.objects.acount() == 1


async def test_a_call_ends_when_its_key_is_revoked(person: User, site: str, waiting: Waits) -> None:
    followed = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        followed.set()

    async with client_of(person, site) as client:
        calling = asyncio.create_task(client.call_tool("desk", HELLO, progress_callback=note))
        await followed.wait()
        await ApiKey.objects.aupdate(revoked_at=timezone.now())
        await live().sign_ins.check_all()
        refused = await calling
        assert (refused.is_error, texts_of(refused)) == (True, ["There is no such task here."])
        waiting.released.set()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "message: Field required"),
        ({"message": 5}, "message: Input should be a valid string"),
        ({"message": ""}, "The message is empty"),
        ({"message": "a" * 40_000}, "the limit is"),
        ({"message": "a", "other": 1}, "other: Extra inputs are not permitted"),
        ({"message": "a", "files": [{"name": "a", "data": "no base64!"}]}, "not base64"),
        ({"message": "a", "files": [{"name": "a", "data": ""}] * 101}, "101 files; the limit is 10"),
    ],
)
async def test_wrong_arguments_are_told_to_the_model(
    person: User, site: str, arguments: dict[str, Any], words: str
) -> None:
    async with client_of(person, site) as client:
        refused = await client.call_tool("desk", arguments)
    assert refused.is_error and words in texts_of(refused)[0], refused
    assert not await Session.objects.aexists()


HOSTILE = {
    b"": 400,
    b"{": 400,
    b"\xff\xfe": 400,
    b"[]": 400,
    b"[1, 2]": 400,
    b"5": 400,
    b"[" * 100_000: 400,
    b'{"id": %s}' % (b"9" * 5_000): 400,
    b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "tools/list"}': 400,
    json.dumps(rpc("tools/call", name="desk", arguments={"message": "\ud800"})).encode(): 400,
    b" " * 10_000_000: 400,
    b" " * 22_000_000: 413,
    json.dumps(rpc("tools/call", name="desk", arguments="text")).encode(): 200,
    json.dumps(rpc("tasks/get", taskId=5)).encode(): 200,
    json.dumps(rpc("drop/tables")).encode(): 200,
}
"""Bodies, with the status of their refusal in the versions before 2026."""


@pytest.mark.parametrize(
    "version", ["", "2026-07-28", "2099-01-01", "\N{LATIN SMALL LETTER Y WITH DIAERESIS}"]
)
async def test_hostile_bodies_are_refused_and_never_an_error_of_the_site(
    person: User, site: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = await sync_to_async(make_key)(person)
    headers = {b"mcp-protocol-version": version.encode("latin-1")} if version else {}
    async with http_with(key) as http:
        for body, status in HOSTILE.items():
            refused = await http.post(f"{site}/mcp", content=body, headers=headers)
            assert refused.status_code == status or (version and refused.status_code in (400, 404)), body[:99]
            assert refused.status_code == 413 or "error" in refused.text
    assert not [record for record in caplog.records if record.exc_info]
    assert not await Session.objects.aexists()


async def test_odd_texts_are_taken(person: User, site: str, model: ScriptedModel) -> None:
    model.turns.append("a\0b\u202e")
    async with client_of(person, site) as client:
        result = await client.call_tool("desk", {"message": "a\0\u202eb"})
    assert texts_of(result) == ["a\ufffdb\u202e"]
