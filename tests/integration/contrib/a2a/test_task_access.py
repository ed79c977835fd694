"""Access to served agents: keys with scopes, tasks of one person, and apps that are named in the settings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from a2a.client import Client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from a2a.utils.errors import (
    InvalidParamsError,
    InvalidRequestError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.test import AsyncClient
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.agents.remote_a2a_agent import RemoteA2aAgent
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes
from runtime.trace_context import trace_context
from sessions_app.agent_apps import registry
from sessions_app.contrib.a2a.endpoint import AGENT_ROUTE, CARD_ROUTE
from sessions_app.history.telemetry import span_export
from sessions_app.invocations.worker import worker
from sessions_app.live.process import live
from sessions_app.models import ApiKey, Invocation, Session
from sessions_app.routing import STREAMS
from sessions_app.sessions.agent_access import create_permissions
from tests.fakes import ScriptedModel, StreamingModel
from tests.integration.api.api_stream import ApiStream, bearer
from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.conftest import APP, http_client, program_of
from tests.integration.contrib.a2a.talk import apply, apply_all, message, say, state_of, text_of
from tests.unit.runtime.conversation import Conversation

UNKNOWN = "e-00000000-0000-0000-0000-000000000000"


class Waits(StreamingModel):
    """Says two words and waits until it is released."""

    begun: Any = None
    released: Any = None

    async def words(self) -> AsyncGenerator[str, None]:
        yield "Good "
        self.begun.set()
        await self.released.wait()
        yield "day"


@pytest.fixture
async def stranger(transactional_db: None) -> User:
    return await sync_to_async(User.objects.create_user)("eve")


async def test_a_task_of_somebody_else_is_as_unknown_as_one_that_does_not_exist(
    program: Client, model: ScriptedModel, stranger: User, site: str
) -> None:
    model.turns.append("Secret.")
    task = await say(program, "Hello")
    async with program_of(stranger, site) as other:
        words = set()
        for task_id in (task.id, UNKNOWN, "\0", "x" * 10_000):
            with pytest.raises(TaskNotFoundError) as got:
                await other.get_task(GetTaskRequest(id=task_id))
            with pytest.raises(TaskNotFoundError) as cancelled:
                await other.cancel_task(CancelTaskRequest(id=task_id))
            with pytest.raises(TaskNotFoundError) as followed:
                await apply_all(other.subscribe(SubscribeToTaskRequest(id=task_id)))
            with pytest.raises(TaskNotFoundError) as answered:
                await say(other, message("yes", task_id=task_id))
            words |= {str(one.value) for one in (got, cancelled, followed, answered)}
        contexts = set()
        for context_id in (task.context_id, "00000000-0000-4000-8000-000000000000", "\0", "no uuid"):
            with pytest.raises(InvalidParamsError) as refused:
                await say(other, message("Hello", context_id=context_id))
            contexts.add(str(refused.value))
    assert len(words) == len(contexts) == 1
    assert await Invocation.objects.acount() == 1


@pytest.mark.parametrize(("scope", "may"), [("read", "get"), ("run", "send"), ("answer", ""), ("manage", "")])
async def test_a_key_may_do_what_its_scope_allows(
    person: User, site: str, model: ScriptedModel, scope: str, may: str
) -> None:
    model.turns += ["One.", "Two."]
    async with program_of(person, site) as owner:
        task = await say(owner, "Hello")
    async with program_of(person, site, scope) as program:
        calls: dict[str, Callable[[], Awaitable[Task]]] = {
            "get": lambda: program.get_task(GetTaskRequest(id=task.id)),
            "send": lambda: say(program, "Hello"),
            "cancel": lambda: program.cancel_task(CancelTaskRequest(id=task.id)),
            "answer": lambda: say(program, message("yes", task_id=task.id)),
        }
        for name, make in calls.items():
            if name == may:
                assert state_of(await make()) == "completed"
            else:
                with pytest.raises(InvalidRequestError, match="lacks the scope"):
                    await make()


async def test_without_a_key_there_is_only_the_card(site: str) -> None:
    async with http_client() as http:
        card = await http.get(f"{site}/a2a/desk/.well-known/agent-card.json")
        assert (card.status_code, card.json()["url"]) == (200, f"{site}/a2a/desk/")
        for path, method in {"/a2a/desk/": "GET", "/a2a/desk/.well-known/agent-card.json": "POST"}.items():
            assert (await http.request(method, site + path)).status_code == 405
        refused = await http.post(f"{site}/a2a/desk/", json={})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    async with http_client("adk_wrong") as http:
        assert (await http.post(f"{site}/a2a/desk/", json={})).status_code == 401


def test_there_are_no_other_addresses() -> None:
    """The rows of the access matrix are the tests of this file."""
    assert {route for route in STREAMS if route.startswith("a2a/")} == {AGENT_ROUTE, CARD_ROUTE}


@pytest.mark.parametrize("name", ["private", "nobody", "%00", "..", "items", "%ED%A0%80", "desk%2F"])
async def test_an_app_that_is_not_named_in_the_settings_is_not_there(
    person: User, site: str, name: str
) -> None:
    key = await sync_to_async(make_key)(person)
    async with http_client(key) as http:
        assert (await http.get(f"{site}/a2a/{name}/.well-known/agent-card.json")).status_code == 404
        assert (await http.post(f"{site}/a2a/{name}/", json={})).status_code in (404, 403)


async def test_the_sign_in_of_a_browser_is_no_key(person: User, site: str, browser: AsyncClient) -> None:
    async with http_client() as http:
        headers = {"origin": site, "cookie": f"sessionid={browser.cookies['sessionid'].value}"}
        assert (await http.post(f"{site}/a2a/desk/", json={}, headers=headers)).status_code == 401


@pytest.fixture
def waiting(site: str) -> Waits:
    """The model of the app, which waits in the middle of its answer."""
    root = registry.apps()["desk"].root_agent
    assert isinstance(root, LlmAgent)
    root.model = Waits(model="waits", begun=asyncio.Event(), released=asyncio.Event())
    return root.model


async def until_text(stream: AsyncIterator[StreamResponse]) -> Task:
    """Read a stream until a piece of text has come; return the task so far."""
    task = Task()
    while not task.artifacts:
        apply(task, await anext(stream))
    return task


def stream_of(program: Client) -> AsyncIterator[StreamResponse]:
    return program.send_message(SendMessageRequest(message=message("Hello")))


async def test_the_text_is_streamed_and_other_clients_follow_it(program: Client, waiting: Waits) -> None:
    stream = stream_of(program)
    task = await until_text(stream)
    assert (state_of(task), text_of(task)) == ("working", "Good ")
    late = program.subscribe(SubscribeToTaskRequest(id=task.id))
    assert text_of(await until_text(late)) == "Good "
    waiting.released.set()
    for follower in (stream, late):
        last = await apply_all(follower)
        assert (state_of(last), text_of(last)) == ("completed", "Good day")


async def test_a_task_is_cancelled_and_says_so(program: Client, waiting: Waits) -> None:
    stream = stream_of(program)
    task = await until_text(stream)
    cancelled = await program.cancel_task(CancelTaskRequest(id=task.id))
    assert (state_of(cancelled), text_of(cancelled)) == ("canceled", "Good ")
    assert state_of(await apply_all(stream)) == "canceled"


async def test_a_running_task_takes_no_message(program: Client, waiting: Waits) -> None:
    stream = stream_of(program)
    task = await until_text(stream)
    with pytest.raises(UnsupportedOperationError, match="waits for no answer"):
        await say(program, message("and?", task_id=task.id))
    waiting.released.set()
    await apply_all(stream)


async def test_a_stream_ends_when_its_key_is_revoked(program: Client, waiting: Waits) -> None:
    stream = stream_of(program)
    await until_text(stream)
    await ApiKey.objects.aupdate(revoked_at=timezone.now())
    await live().sign_ins.check_all()
    with pytest.raises(TaskNotFoundError):
        await apply_all(stream)
    waiting.released.set()
    await worker().wait_until_idle()


async def test_a_request_that_waits_for_a_task_gets_nothing_of_it_when_the_key_is_revoked(
    person: User, site: str, waiting: Waits
) -> None:
    async with program_of(person, site, streaming=False) as program:
        answer = asyncio.create_task(say(program, "Hello"))
        await waiting.begun.wait()
        await ApiKey.objects.aupdate(revoked_at=timezone.now())
        await live().sign_ins.check_all()
        with pytest.raises(TaskNotFoundError):
            await answer
    waiting.released.set()
    await worker().wait_until_idle()


async def test_a_program_that_leaves_during_its_request_gets_nothing(
    person: User, site: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = await sync_to_async(make_key)(person)
    await ApiStream("/a2a/desk/", bearer(key), method="POST", body={}).leave_during_body()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_what_is_not_offered_says_so(program: Client, model: ScriptedModel) -> None:
    model.turns.append("Done.")
    task = await say(program, "Hello")
    with pytest.raises(TaskNotCancelableError, match="has ended"):
        await program.cancel_task(CancelTaskRequest(id=task.id))
    with pytest.raises(UnsupportedOperationError, match="has ended"):
        await apply_all(program.subscribe(SubscribeToTaskRequest(id=task.id)))


async def test_a_remote_agent_of_this_site_talks_to_it_within_its_trace(
    person: User,
    site: str,
    model: ScriptedModel,
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.turns += ["First.", "Second."]
    key = await sync_to_async(make_key)(person)
    credential = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=key)
    card = f"{site}/a2a/desk/.well-known/agent-card.json"
    conversation = Conversation(RemoteA2aAgent("desk", card, auth_credential=credential))
    configure(a2a_apps=[APP], otlp_endpoint="http://127.0.0.1:1/v1/traces")
    monkeypatch.setattr(span_export, "IS_AVAILABLE", False)
    given = f"00-{7:032x}-{9:016x}-01"
    with trace_context(given):
        assert (await conversation.say("Hello"))[-1].text() == "First."
    assert (await conversation.say("Again"))[-1].text() == "Second."
    assert await Session.objects.acount() == 1
    contexts = Invocation.objects.order_by("pk").values_list("traceparent", flat=True)
    assert [context async for context in contexts] == [given, ""]


async def test_a_closed_agent_and_its_card_are_for_keys_of_people_who_may_use_it(
    site: str, configure: Callable[..., None], person: User, stranger: User
) -> None:
    configure(a2a_apps=[APP], apps={APP: {"access": "permission"}})
    await sync_to_async(create_permissions)()
    await person.user_permissions.aadd(await Permission.objects.aget(codename=f"use_{APP}"))
    key, other_key = [await sync_to_async(make_key)(user) for user in (person, stranger)]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": UNKNOWN}}
    for sent_key, status in (("", 401), (other_key, 403), (key, 200)):
        async with http_client(sent_key) as client:
            card = await client.get(f"{site}/a2a/{APP}/.well-known/agent-card.json")
            answer = await client.post(f"{site}/a2a/{APP}/", json=asked)
        assert (card.status_code, answer.status_code) == (status, status)
        assert "public" not in card.headers.get("cache-control", "")
