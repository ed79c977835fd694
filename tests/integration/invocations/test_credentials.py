"""Credentials on the site: the tool gets the secret, and no table, log line or page has it (contract T8)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps as django_apps
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient
from django.urls import reverse
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.auth import AuthConfig
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation
from runtime.events.calls import REQUEST_CREDENTIAL
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import InvalidInputError
from sessions_app.invocations.credentials import delete_expired_credentials
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, Session
from sessions_app.process.threads import in_thread
from sessions_app.store.sql import leases
from tests.fakes import ScriptedModel, call
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
SECRET = "s3cr3t-key-of-ada"
KEY = AuthConfig(auth_scheme=APIKey(in_=ApiKeyLocation.HEADER, name="X-Key"))


class Weather:
    """Tool that needs an API key; `behave` runs when it has one."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []
        self.has_begun = asyncio.Event()
        self.behave: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)

    async def ask(self, city: str, tool_context: ToolContext) -> dict[str, Any] | None:
        """The weather."""
        credential = tool_context.get_auth_response(KEY)
        if credential is None:
            tool_context.request_credential(KEY)
            return None
        self.keys.append(credential.api_key)
        self.has_begun.set()
        await self.behave()
        return {"weather": f"sunny in {city}"}


@pytest.fixture
def weather(served: Served, caplog: pytest.LogCaptureFixture) -> Weather:
    caplog.set_level(logging.DEBUG, "sessions_app")
    caplog.set_level(logging.DEBUG, "runtime")
    tool, model = Weather(), ScriptedModel(rule=_next_turn)
    app = App(name="weather", root_agent=LlmAgent(name="weather", model=model, tools=[tool.ask]))
    served(app)
    return tool


@pytest.fixture
async def leaks(
    person: User, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Callable[[], Awaitable[list[str]]]]:
    """Return a function that names each place with the secret."""
    await User.objects.acreate_superuser("root", password="secret")

    async def find() -> list[str]:
        return [
            *await in_thread(_tables_with, SECRET),
            *await _pages_with(SECRET, person),
            *_logs_with(caplog),
        ]

    yield find


def _next_turn(request: Any) -> Any:
    last = request.contents[-1].parts[0]
    return "Done." if last.function_response else call("ask", city="Bern")


def _logs_with(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for line in caplog.text.splitlines() if SECRET in line]


def _tables_with(secret: str) -> list[str]:
    """Return the tables of the app in which a row, written as text, has the secret."""
    found = []
    for model in django_apps.get_app_config("sessions_app").get_models():
        table = model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{secret}%"])
            found += [table] if cursor.fetchone()[0] else []
    return found


async def _pages_with(secret: str, person: User) -> list[str]:
    found, staff, owner = [], AsyncClient(), AsyncClient()
    await staff.aforce_login(await User.objects.aget(username="root"))
    await owner.aforce_login(person)
    session = await Session.objects.aget()
    pages = [(owner, reverse("chat:session", args=[session.pk]))]
    pages += [(staff, reverse("admin:sessions_app_session_change", args=[session.pk]))]
    async for row in Invocation.objects.all():
        pages.append((staff, reverse("admin:sessions_app_invocation_change", args=[row.pk])))
    for client, url in pages:
        response = await client.get(url)
        assert response.status_code == 200, url
        found += [url] if secret in response.content.decode() else []
    return found


async def ask_for_weather(person: User) -> tuple[Session, str]:
    """Return a session that waits for the key, and the id of the request."""
    session = await use_cases.create_session(person, "weather")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "weather?")
    await worker().wait_until_idle()
    last = await Event.objects.filter(session=session).alatest("seq")
    (request,) = last.body["content"]["parts"]
    assert request["functionCall"]["name"] == REQUEST_CREDENTIAL
    return session, request["functionCall"]["id"]


async def give_key(person: User, session_id: UUID, call_id: str, given: Any = None) -> str:
    response = given or {"authType": "apiKey", "apiKey": SECRET}
    invocation_id, _ = await use_cases.answer_call(
        actors.person(person), session_id, call_id, REQUEST_CREDENTIAL, response
    )
    return invocation_id


async def lease(session: Session, owner: str) -> None:
    """Let another process hold the session, or nobody."""
    later = timezone.now() + timedelta(minutes=1) if owner else None
    await Session.objects.filter(pk=session.pk).aupdate(lease_owner=owner, lease_expires_at=later)


async def test_the_tool_gets_a_credential_that_is_stored_nowhere_in_clear(
    person: User, weather: Weather, leaks: Callable[[], Awaitable[list[str]]]
) -> None:
    release = asyncio.Event()
    weather.behave = lambda: _wait(release)
    session, call_id = await ask_for_weather(person)
    await lease(session, "elsewhere")
    invocation_id = await give_key(person, session.pk, call_id)
    assert (await Invocation.objects.aget(invocation_id=invocation_id)).credentials
    assert await leaks() == [], "while queued"
    await lease(session, "")
    await worker().start_next(session.pk)
    await weather.has_begun.wait()
    assert await leaks() == [], "while running"
    release.set()
    await worker().wait_until_idle()
    row = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (row.status, row.credentials, weather.keys) == ("completed", "", [SECRET])
    assert await leaks() == []


async def test_an_answer_that_is_stopped_while_queued_leaves_no_secret(
    person: User, weather: Weather, leaks: Callable[[], Awaitable[list[str]]]
) -> None:
    session, call_id = await ask_for_weather(person)
    await lease(session, "elsewhere")
    invocation_id = await give_key(person, session.pk, call_id)
    await use_cases.cancel(actors.person(person), session.pk, invocation_id)
    await lease(session, "")
    await worker().run_queue(session.pk)
    row = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (row.status, row.credentials, weather.keys) == ("cancelled", "", [])
    assert await leaks() == []


async def test_a_tool_that_fails_with_its_credential_leaves_no_secret(
    person: User, weather: Weather, leaks: Callable[[], Awaitable[list[str]]]
) -> None:
    async def fail() -> None:
        raise ConnectionError("no weather today")

    weather.behave = fail
    session, call_id = await ask_for_weather(person)
    invocation_id = await give_key(person, session.pk, call_id)
    await worker().wait_until_idle()
    row = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (row.status, row.credentials, weather.keys) == ("failed", "", [SECRET])
    assert await leaks() == []


@pytest.mark.parametrize("when", ["queued", "running"])
async def test_another_process_resumes_with_the_credential(
    person: User, weather: Weather, leaks: Callable[[], Awaitable[list[str]]], when: str
) -> None:
    session, call_id = await ask_for_weather(person)
    stall = asyncio.Event()
    weather.behave = lambda: _wait(stall)
    if when == "queued":
        await lease(session, "elsewhere")
    await give_key(person, session.pk, call_id)
    if when == "running":
        await weather.has_begun.wait()
    weather.behave = lambda: asyncio.sleep(0)
    past = timezone.now() - timedelta(seconds=1)
    await Session.objects.filter(pk=session.pk).aupdate(lease_expires_at=past)
    assert await leases.take_back_expired() == [session.pk]
    await InvocationWorker(live()).run_queue(session.pk)
    stall.set()
    await worker().wait_until_idle()  # It may have taken the invocation up again itself.
    row = await Invocation.objects.filter(session=session).alatest("id")
    assert (row.status, row.credentials, set(weather.keys)) == ("completed", "", {SECRET})
    assert (await Event.objects.filter(session=session).alatest("seq")).text == "Done."
    assert await leaks() == []


async def test_an_answer_that_cannot_be_read_is_refused_without_being_stored(
    person: User, weather: Weather, leaks: Callable[[], Awaitable[list[str]]]
) -> None:
    session, call_id = await ask_for_weather(person)
    with pytest.raises(InvalidInputError) as refused:
        await give_key(person, session.pk, call_id, {"password": SECRET})
    assert SECRET not in str(refused.value)
    assert await leaks() == []
    await give_key(person, session.pk, call_id)
    await worker().wait_until_idle()
    assert weather.keys == [SECRET]


async def test_a_credential_that_is_too_old_is_deleted_and_asked_for_again(
    person: User, weather: Weather, configure: Callable[..., None]
) -> None:
    session, call_id = await ask_for_weather(person)
    await lease(session, "elsewhere")
    invocation_id = await give_key(person, session.pk, call_id)
    await in_thread(delete_expired_credentials)
    assert (await Invocation.objects.aget(invocation_id=invocation_id)).credentials
    configure(credential_seconds=0)
    await in_thread(delete_expired_credentials)
    assert not (await Invocation.objects.aget(invocation_id=invocation_id)).credentials
    await lease(session, "")
    await worker().run_queue(session.pk)
    last = await Event.objects.filter(session=session).alatest("seq")
    assert last.body["content"]["parts"][0]["functionCall"]["name"] == REQUEST_CREDENTIAL


async def test_a_new_key_decrypts_what_the_one_before_it_encrypted(
    person: User, weather: Weather, configure: Callable[..., None]
) -> None:
    configure(credential_keys=["old"])
    session, call_id = await ask_for_weather(person)
    await lease(session, "elsewhere")
    await give_key(person, session.pk, call_id)
    configure(credential_keys=["new", "old"])
    await lease(session, "")
    await worker().run_queue(session.pk)
    assert weather.keys == [SECRET]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
