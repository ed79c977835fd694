"""Access matrix of the websocket and of the event stream: who may open them, and what each frame does for whom.

A new frame of `sessions_app/chat/protocol.py` without a row fails here. The connections go through the site's whole
application, with the origin and the sign-in cookie that a browser sends.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as site_settings
from django.contrib.auth.models import Group, Permission, User
from django.test import AsyncClient, Client
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import LongRunningFunctionTool, get_user_choice
from sessions_app.chat.protocol import AnyClientFrame
from sessions_app.jobs import response as job_response
from sessions_app.live.notices import job_notice
from sessions_app.live.process import live
from sessions_app.models import Artifact, Invocation, JobStatus, Session
from sessions_app.process import celery_dispatch
from sessions_app.routing import websocket_application, websocket_urlpatterns
from sessions_app.sessions.agent_access import create_permissions
from tests.fakes import ScriptedModel
from tests.integration.access import APP, ASKED, CALL, make_job, make_schedule, make_session
from tests.integration.admin.audit_rows import append_event
from tests.integration.socket_tab import Websocket
from tests.integration.stream_tab import StreamTab
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "transactional_db")
ORIGIN = b"http://localhost"

CLOSE_CODES = {
    "anonymous": 4401,
    "deactivated": 4401,
    "person": 4404,
    "staff with all permissions": 4404,
    "superuser": 4404,
}


def choose() -> None:
    """Let the person choose."""


def queued(session: Session) -> dict[str, Any]:
    row = Invocation.objects.create(
        session=session, invocation_id=f"q-{session.pk}", client_id="m", message={}
    )
    return {"invocation_id": row.invocation_id}


def failed(session: Session) -> dict[str, Any]:
    names = {"invocation_id": f"f-{session.pk}", "client_id": "m", "status": "failed"}
    message = {"role": "user", "parts": [{"text": "hi"}]}
    row = Invocation.objects.create(session=session, message=message, **names)
    return {"invocation_id": row.invocation_id}


def with_file(session: Session) -> dict[str, Any]:
    row = Artifact.objects.create(
        app_name=session.app_name,
        user_id=session.user_id,
        session=session,
        filename="a.zip",
        version=0,
        mime_type="application/zip",
        part_kind="blob",
        size=0,
        is_upload=True,
    )
    return {"id": "m1", "text": "hi", "files": [{"name": row.filename, "version": 0}]}


def waiting(session: Session) -> dict[str, Any]:
    job = make_job(session, status=JobStatus.WAITING, question=ASKED)
    return {"id": str(job.pk), "number": 0, "answer": True}


def allowed(session: Session) -> dict[str, Any]:
    """Store a request that offers to allow later calls, and the answer that allows them."""
    args = {"originalFunctionCall": CALL, "toolConfirmation": {"forSession": True}}
    asked = {"functionCall": {"id": "c-offer", "name": REQUEST_CONFIRMATION, "args": args}}
    given = {
        "id": "c-offer",
        "name": REQUEST_CONFIRMATION,
        "response": {"confirmed": True, "forSession": True},
    }
    append_event(session, asked, author=APP, longRunningToolIds=["c-offer"])
    append_event(session, {"functionResponse": given}, author="user")
    return {"agent": APP, "tool": CALL["name"]}


def replaced(session: Session) -> dict[str, Any]:
    """Store a message and the rewind that undid it."""
    message = append_event(session, {"text": "hi"}, author="user", invocationId="e-old")
    append_event(session, author="user", actions={"rewindBeforeInvocationId": "e-old"})
    return {"seq": message.seq}


@dataclass(frozen=True)
class Row:
    """A frame, and the type of the frame that tells the owner that it was carried out.

    Attributes:
        fields: stores what the frame is about, and returns the frame's fields.
    """

    fields: Callable[[Session], dict[str, Any]]
    answer: str


ROWS = {
    "hello": Row(lambda session: {}, "ready"),
    "ping": Row(lambda session: {}, "pong"),
    "message": Row(with_file, "invocation"),
    "switch": Row(replaced, "event"),
    "seen": Row(lambda session: {"seq": 1}, "sessions"),
    "cancel": Row(queued, "invocation"),
    "retry": Row(failed, "invocation"),
    "cancel_job": Row(lambda session: {"id": str(make_job(session).pk)}, "job"),
    "answer_job": Row(waiting, "job"),
    "cancel_schedule": Row(lambda session: {"id": make_schedule(session).pk}, "schedule"),
    "confirm": Row(lambda session: {"call_id": "c-confirm", "confirmed": True}, "invocation"),
    "choose": Row(lambda session: {"call_id": "c-options", "option": 0}, "invocation"),
    "withdraw_allowance": Row(allowed, "event"),
    "respond": Row(
        lambda session: {"call_id": "c-choose", "name": "choose", "response": {"a": 1}}, "invocation"
    ),
}


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch, served: Served) -> None:
    """An app whose model answers with a word, and no broker."""
    model = ScriptedModel(rule=lambda request: "Done.")
    tools = [LongRunningFunctionTool(choose, answered_by="person"), get_user_choice]
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=model, tools=tools))
    served(app)
    monkeypatch.setattr(job_response, "offer_session", lambda session_id: None)
    monkeypatch.setattr(celery_dispatch, "send_job", lambda job_id, task_name: None)


def make_people() -> dict[str, Client]:
    """A browser of each person of the matrix, signed in."""
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    people = {
        "owner": User.objects.create_user("ada"),
        "person": User.objects.create_user("eve"),
        "staff with all permissions": staff,
        "superuser": User.objects.create_superuser("root"),
        "deactivated": User.objects.create_user("leaver"),
    }
    clients = {name: Client() for name in ["anonymous", *people]}
    for name, user in people.items():
        clients[name].force_login(user)
    User.objects.filter(username="leaver").update(is_active=False)
    return clients


def socket_of(client: Client, session: Session | None, origin: bytes = ORIGIN, query: str = "") -> Websocket:
    path = f"/ws/chat/{session.pk}/{query}" if session else "/ws/chat/"
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = [(b"cookie", cookies.encode()), (b"host", b"localhost"), (b"origin", origin)]
    return Websocket(websocket_application, path, headers=headers)


def standing(session: Session) -> list[Any]:
    """Everything that a frame could change."""
    session.refresh_from_db()
    rows = [session.invocations, session.jobs, session.scheduled_tasks, session.events]
    return [
        session.title,
        session.last_seq,
        session.seen_seq,
        [list(several.order_by("pk").values()) for several in rows],
    ]


async def frames_until(socket: Websocket, wanted: str) -> list[str]:
    """The types of the frames that come, up to the wanted one or an error."""
    types: list[str] = []
    while not types or types[-1] not in (wanted, "error"):
        types.append(json.loads(await socket.receive_from(timeout=10))["type"])
    return types


def test_each_frame_of_the_protocol_has_a_row() -> None:
    known = {get_args(frame.model_fields["type"].annotation)[0] for frame in get_args(AnyClientFrame)}
    assert known == ROWS.keys(), (
        "Add a row to ROWS for each frame: what it needs, and what the owner is told."
    )


def test_each_websocket_has_this_matrix() -> None:
    routes = [str(pattern.pattern) for pattern in websocket_urlpatterns]
    assert routes == ["ws/chat/", "ws/chat/<uuid:session_id>/"], "A new websocket needs a matrix of its own."


async def test_the_news_of_the_list_are_told_to_the_person_whose_list_it_is() -> None:
    clients = await sync_to_async(make_people)()
    owner = await User.objects.aget(username="ada")
    session = await sync_to_async(make_session)(owner)
    sockets = {name: socket_of(client, None) for name, client in clients.items()}
    for name, socket in sockets.items():
        assert (await socket.connect())[0]
        if CLOSE_CODES.get(name) == 4401:
            assert await socket.receive_output(timeout=10) == {"type": "websocket.close", "code": 4401}, name
        else:
            await socket.send_to(text_data='{"v": 1, "type": "hello", "list": true}')
            assert await frames_until(socket, "ready") == ["ready"]
    stream = StreamTab(browser_of(clients["owner"]), None, "list=1")
    await stream.open()
    await stream.receive("ready")
    job = await sync_to_async(make_job)(session, status=JobStatus.RUNNING)
    live().hub.publish_notice(session.pk, job_notice(job))
    assert await frames_until(sockets["owner"], "activity") == ["activity"]
    await stream.receive("activity")
    live().list_news.publish(owner.pk)
    assert await frames_until(sockets["owner"], "sessions") == ["sessions"]
    await stream.receive("sessions")
    await stream.leave()
    for name, socket in sockets.items():
        if CLOSE_CODES.get(name) != 4401 and name != "owner":
            await socket.send_to(text_data='{"v": 1, "type": "ping"}')
            assert await frames_until(socket, "pong") == ["pong"], name
        await socket.disconnect()


@pytest.mark.parametrize("frame", sorted({*ROWS} - {"hello", "ping"}))
async def test_a_frame_to_a_chat_is_refused_on_the_socket_of_the_list(frame: str) -> None:
    clients = await sync_to_async(make_people)()
    session = await sync_to_async(make_session)(await User.objects.aget(username="ada"))
    sent = json.dumps({"v": 1, "type": frame, **await sync_to_async(ROWS[frame].fields)(session)})
    before = await sync_to_async(standing)(session)
    socket = socket_of(clients["owner"], None)
    await socket.connect()
    await socket.send_to(text_data=sent)
    assert await frames_until(socket, "error") == ["error"]
    await socket.disconnect()
    assert await sync_to_async(standing)(session) == before


@pytest.mark.parametrize("origin", [b"http://evil.example", b""])
async def test_pages_of_other_sites_cannot_open_the_socket_of_the_list(origin: bytes) -> None:
    clients = await sync_to_async(make_people)()
    socket = socket_of(clients["owner"], None, origin)
    assert not (await socket.connect())[0]


@pytest.mark.parametrize("frame", ROWS)
async def test_only_the_owner_is_let_in_and_the_frame_does_nothing_for_others(frame: str) -> None:
    row = ROWS[frame]
    clients = await sync_to_async(make_people)()
    owner = await User.objects.aget(username="ada")
    session = await sync_to_async(make_session)(owner)
    sent = json.dumps({"v": 1, "type": frame, **await sync_to_async(row.fields)(session)})
    before = await sync_to_async(standing)(session)
    for name, code in CLOSE_CODES.items():
        socket = socket_of(clients[name], session)
        assert (await socket.connect())[0]
        assert await socket.receive_output(timeout=10) == {"type": "websocket.close", "code": code}, name
        await socket.send_to(text_data=sent)  # by a client that does not care
        await socket.disconnect()
        told = [socket.output_queue.get_nowait()["type"] for _ in range(socket.output_queue.qsize())]
        assert "websocket.send" not in told, name
    assert await sync_to_async(standing)(session) == before
    socket = socket_of(clients["owner"], session)
    await socket.connect()
    await socket.send_to(text_data='{"v": 1, "type": "hello", "list": true}')
    if frame != "hello":
        await frames_until(socket, "ready")
        await socket.send_to(text_data=sent)
    assert (await frames_until(socket, row.answer))[-1] == row.answer
    await socket.disconnect()


@pytest.mark.parametrize("frame", sorted({*ROWS} - {"hello", "ping"}))
async def test_only_the_owner_gets_an_event_stream_and_a_frame_by_http_does_nothing_for_others(
    frame: str,
) -> None:
    row = ROWS[frame]
    clients = await sync_to_async(make_people)()
    session = await sync_to_async(make_session)(await User.objects.aget(username="ada"))
    sent = {"type": frame, **await sync_to_async(row.fields)(session)}
    before = await sync_to_async(standing)(session)
    for name, code in CLOSE_CODES.items():
        for query in ("", f"new={APP}"):
            tab = StreamTab(browser_of(clients[name]), session.pk, query)
            await tab.open()
            assert await tab.text() == f"event: close\ndata: {code}\n\n", name
            status = (await tab.post(**sent)).status_code
            assert status in ((302,) if code == 4401 else (404, 204) if frame == "seen" else (404,)), name
    assert await sync_to_async(standing)(session) == before
    tab = StreamTab(browser_of(clients["owner"]), session.pk, "list=1")
    await tab.open()
    await tab.receive("ready")
    assert (await tab.post(**sent)).status_code == (200 if frame == "message" else 204)
    await tab.receive(row.answer)
    await tab.leave()


WITHOUT_ACCESS = ("hello", "ping", "seen", "cancel", "cancel_job", "cancel_schedule", "withdraw_allowance")
"""Frames that are carried out for an owner who may not use the agent any more: they read, or stop work."""


@pytest.mark.parametrize("frame", ROWS)
async def test_a_right_withdrawn_ends_the_use_of_an_open_socket(frame: str, settings: Settings) -> None:
    settings.ADK = {**settings.ADK, "apps": {APP: {"access": "permission"}}}
    await sync_to_async(create_permissions)()
    clients = await sync_to_async(make_people)()
    owner = await User.objects.aget(username="ada")
    permission = await Permission.objects.aget(codename=f"use_{APP}")
    group = await Group.objects.acreate(name="Users of the agent")
    await group.permissions.aadd(permission)
    await owner.groups.aadd(group)
    session = await sync_to_async(make_session)(owner)
    sent = json.dumps({"v": 1, "type": frame, **await sync_to_async(ROWS[frame].fields)(session)})
    socket = socket_of(clients["owner"], session)
    await socket.connect()
    await socket.send_to(text_data='{"v": 1, "type": "hello", "list": true}')
    await frames_until(socket, "ready")
    await group.permissions.aclear()
    before = await sync_to_async(standing)(session)
    await socket.send_to(text_data=sent)
    answer = ROWS[frame].answer if frame in WITHOUT_ACCESS else "error"
    assert (await frames_until(socket, answer))[-1] == answer
    if frame not in WITHOUT_ACCESS:
        assert await sync_to_async(standing)(session) == before
        await owner.user_permissions.aadd(permission)  # given to the person by name
        await socket.send_to(text_data=sent)
        assert (await frames_until(socket, ROWS[frame].answer))[-1] == ROWS[frame].answer
    await socket.disconnect()


async def test_the_socket_of_a_hidden_agent_is_closed_and_no_new_chat_begins(settings: Settings) -> None:
    settings.ADK = {**settings.ADK, "apps": {APP: {"access": "hidden"}}}
    clients = await sync_to_async(make_people)()
    session = await sync_to_async(make_session)(await User.objects.aget(username="ada"))
    for person in ("owner", "superuser"):
        for pk in (session.pk, uuid4()):
            socket = socket_of(clients[person], Session(pk=pk), query=f"?new={APP}")
            await socket.connect()
            assert await socket.receive_output(timeout=10) == {"type": "websocket.close", "code": 4404}
            await socket.disconnect()


def browser_of(client: Client) -> AsyncClient:
    """The same browser, for asynchronous tests."""
    browser = AsyncClient()
    browser.cookies = client.cookies
    return browser


@pytest.mark.parametrize("query", [f"?new={APP}", "?new=nobody", "?new=%ff"])
async def test_the_address_of_a_new_chat_opens_no_chat_of_somebody_else(query: str) -> None:
    clients = await sync_to_async(make_people)()
    session = await sync_to_async(make_session)(await User.objects.aget(username="ada"))
    for name, code in CLOSE_CODES.items():
        socket = socket_of(clients[name], session, query=query)
        assert (await socket.connect())[0]
        assert await socket.receive_output(timeout=10) == {"type": "websocket.close", "code": code}, name
        await socket.disconnect()


@pytest.mark.parametrize("origin", [b"http://evil.example", b"http://localhost.evil.example", b"null", b""])
async def test_pages_of_other_sites_cannot_open_the_socket(origin: bytes) -> None:
    clients = await sync_to_async(make_people)()
    session = await sync_to_async(make_session)(await User.objects.aget(username="ada"))
    assert origin.decode() not in site_settings.ALLOWED_HOSTS
    socket = socket_of(clients["owner"], session, origin)
    accepted, _ = await socket.connect()
    await socket.disconnect()
    assert not accepted


async def test_somebody_who_is_signed_out_elsewhere_cannot_come_back() -> None:
    clients = await sync_to_async(make_people)()
    session = await sync_to_async(make_session)(await User.objects.aget(username="ada"))
    socket = socket_of(clients["owner"], session)
    await sync_to_async(clients["owner"].logout)()
    await socket.connect()
    assert await socket.receive_output(timeout=10) == {"type": "websocket.close", "code": 4401}
    await socket.disconnect()
