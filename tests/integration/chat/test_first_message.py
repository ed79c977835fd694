"""Contract: the first message of a new chat creates its session, once, within the limits; news reach the list."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.conf import conf
from sessions_app.live import process
from sessions_app.models import Invocation, Session
from sessions_app.routing import websocket_urlpatterns
from sessions_app.store.sql.event_log import SessionStatus, session_statuses
from tests.fakes import ScriptedModel
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "transactional_db")


@pytest.fixture(autouse=True)
def app(served: Served) -> None:
    """An app whose agent says "Fine."."""
    agent = LlmAgent(name="echo", model=ScriptedModel(rule=lambda request: "Fine."))
    served(App(name="echo", root_agent=agent))


class NewTab:
    """The browser's end of a socket of a new chat."""

    def __init__(self, user: Any, session_id: UUID, query: str = "?new=echo") -> None:
        path = f"/ws/chat/{session_id}/{query}"
        self.socket = Websocket(URLRouter(websocket_urlpatterns), path)
        self.socket.scope["user"] = user

    async def open(self) -> dict[str, Any]:
        assert (await self.socket.connect())[0]
        await self.send(type="hello", list=True)
        return await self.receive("ready")

    async def send(self, **frame: Any) -> None:
        await self.socket.send_json_to(frame)

    async def receive(self, wanted: str, **fields: Any) -> dict[str, Any]:
        """Return the next frame of a type with these fields."""
        while True:
            frame: dict[str, Any] = await self.socket.receive_json_from(timeout=10)
            if frame["type"] == wanted and fields.items() <= frame.items():
                return frame

    async def close(self) -> None:
        await self.socket.disconnect()


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
async def person() -> User:
    return await User.objects.acreate_user("ada")


@pytest.mark.parametrize("is_staff", [False, True])
async def test_a_tab_that_expects_a_chat_which_another_person_begins_sees_nothing_of_it(
    person: User, is_staff: bool
) -> None:
    session_id = uuid4()
    stranger = await User.objects.acreate_user("mallory", is_staff=is_staff)
    tab, strange = NewTab(person, session_id), NewTab(stranger, session_id)
    await strange.open()
    await tab.open()
    await tab.send(type="message", id="m1", text="A secret")
    await tab.receive("invocation", status="completed")
    frames = []
    while (output := await strange.socket.receive_output(timeout=10))["type"] == "websocket.send":
        frames.append(output["text"])
    assert (output["type"], output["code"]) == ("websocket.close", 4404)
    assert not [frame for frame in frames if '"type": "sessions"' not in frame]
    await tab.close()


async def test_a_tab_stays_open_whose_session_is_created_while_deleted_sessions_are_looked_for(
    person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, created, again = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def read_before_the_creation(session_ids: list[UUID]) -> dict[UUID, SessionStatus]:
        if begun.is_set():
            again.set()
            return await session_statuses(session_ids)
        begun.set()
        await created.wait()
        return {}

    monkeypatch.setattr(process, "session_statuses", read_before_the_creation)
    heartbeats = replace(conf(), heartbeat_seconds=0.05)
    monkeypatch.setattr(process, "conf", lambda: heartbeats)
    tab = NewTab(person, uuid4())
    await tab.open()
    await asyncio.wait_for(begun.wait(), 10)
    await tab.send(type="message", id="m1", text="How are you?")
    await tab.receive("invocation", status="completed")
    created.set()
    await asyncio.wait_for(again.wait(), 10)
    await tab.send(type="ping")
    assert (await tab.receive("pong"))["type"] == "pong"  # not closed with 4404
    await tab.close()


async def test_the_first_message_creates_the_session_and_is_answered_in_each_of_its_tabs(
    person: User,
) -> None:
    session_id = uuid4()
    tab, other = NewTab(person, session_id), NewTab(person, session_id)
    assert (await tab.open())["seq"] == (await other.open())["seq"] == 0
    assert not await Session.objects.aexists()
    await tab.send(type="message", id="m1", text="How are you?")
    await tab.receive("invocation", status="completed")
    assert (await other.receive("ready"))["session"] == str(session_id)  # greeted when the session exists
    assert "Fine." in (await other.receive("event", seq=2))["html"]
    for each in (tab, other):
        await each.close()
    session = await Session.objects.aget()
    assert (session.pk, session.key, session.title) == (session_id, str(session_id), "How are you?")
    assert session.last_seq == 2


async def test_a_first_message_that_is_sent_again_makes_one_session(person: User) -> None:
    session_id = uuid4()
    for _ in range(2):
        tab = NewTab(person, session_id)
        await tab.open()
        await tab.send(type="message", id="m1", text="Hello")
        await tab.receive("invocation", client_id="m1")
        await tab.close()
    assert await Session.objects.acount() == await Invocation.objects.acount() == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"text": " "}, "invalid"),
        ({"text": "x" * 40_000}, "too_large"),
        ({"id": "job:1"}, "invalid"),
        ({"replaces": "e-1"}, "not_found"),
        ({"files": [{"name": "a.txt", "version": 0}]}, "not_found"),
    ],
    ids=["empty", "too long", "reserved id", "edit", "file"],
)
async def test_a_first_message_that_is_refused_leaves_no_row(
    person: User, message: dict[str, Any], code: str
) -> None:
    tab = NewTab(person, uuid4())
    await tab.open()
    await tab.send(**{"type": "message", "id": "m1", "text": "Hello", **message})
    error = await tab.receive("error")
    assert error["code"] == code
    assert ("Attach them again" in error["message"]) == ("files" in message)
    await tab.send(type="cancel", invocation_id="e-1")
    assert (await tab.receive("error"))["code"] == "not_found"
    await tab.close()
    assert not await Session.objects.aexists()


async def test_a_first_message_has_the_file_that_created_its_session(person: User) -> None:
    session_id, file = uuid4(), SimpleUploadedFile("a.txt", b"a")
    tab = NewTab(person, session_id)
    await tab.open()
    await use_cases.upload_file(person, session_id, file, new_app="echo")
    await tab.send(type="message", id="m1", text="", files=[{"name": "a.txt", "version": 0}])
    await tab.receive("invocation", status="completed")
    await tab.close()
    assert (await Session.objects.aget()).title == "a.txt"


async def test_new_sessions_are_limited(person: User, settings: Settings) -> None:
    settings.ADK = {"max_new_sessions_per_user": 1}
    for code in ("", "limit"):
        tab = NewTab(person, uuid4())
        await tab.open()
        await tab.send(type="message", id="m1", text="Hello")
        frame = await tab.receive("error" if code else "invocation")
        assert frame.get("code", "") == code
        await tab.close()
    assert "1 chats were begun here within an hour" in frame["message"]
    assert await Session.objects.acount() == 1


async def test_a_session_with_an_unknown_app_is_not_opened(person: User) -> None:
    for query in ("", "?new=", "?new=nobody"):
        tab = NewTab(person, uuid4(), query)
        await tab.socket.connect()
        assert (await tab.socket.receive_output())["code"] == 4404


async def test_what_happens_in_a_session_is_told_in_the_other_tabs_of_its_person_only(person: User) -> None:
    elsewhere = NewTab(person, uuid4())
    stranger = NewTab(await User.objects.acreate_user("eve"), uuid4())
    await elsewhere.open()
    await stranger.open()
    session = await use_cases.create_session(person, "echo")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "Hello")
    await elsewhere.receive("sessions")
    await use_cases.change_session(actors.person(person), session.pk, "rename", "Another title")
    await elsewhere.receive("sessions")
    await stranger.send(type="ping")
    assert (await stranger.socket.receive_json_from(timeout=10))["type"] == "pong"
    await elsewhere.close()
    await stranger.close()


async def test_a_deleted_session_is_closed_in_its_tabs_and_not_opened_again(person: User) -> None:
    session = await use_cases.create_session(person, "echo")
    tab = NewTab(person, session.pk)
    await tab.open()
    await use_cases.change_session(actors.person(person), session.pk, "delete")
    while (closed := await tab.socket.receive_output())["type"] != "websocket.close":
        pass
    assert closed["code"] == 4404
    again = NewTab(person, session.pk)
    await again.socket.connect()
    assert (await again.socket.receive_output())["code"] == 4404


async def test_the_title_follows_an_edited_first_message_unless_the_person_chose_it(person: User) -> None:
    for title, expected in (("", "Second"), ("Mine", "Mine")):
        session = await use_cases.create_session(person, "echo")
        tab = NewTab(person, session.pk)
        await tab.open()
        await tab.send(type="message", id="m1", text="First")
        first = await tab.receive("invocation", status="completed")
        if title:
            await use_cases.change_session(actors.person(person), session.pk, "rename", title)
        await tab.send(type="message", id="m2", text="Second", replaces=first["id"])
        await tab.receive("invocation", client_id="m2", status="completed")
        await tab.close()
        await session.arefresh_from_db()
        assert session.title == expected


async def test_a_seen_session_is_no_longer_unread(person: User, client: Client) -> None:
    session = await use_cases.create_session(person, "echo")
    await Session.objects.filter(pk=session.pk).aupdate(last_seq=3)
    await sync_to_async(client.force_login)(person)
    assert "New answer" in (await sync_to_async(client.get)("/chats/")).content.decode()
    await use_cases.mark_seen(person, session.pk, 2**60)
    assert "New answer" not in (await sync_to_async(client.get)("/chats/")).content.decode()
    await session.arefresh_from_db()
    assert session.seen_seq == 3
