"""Websocket frames of any shape: a bad one is answered with one `error` frame, and the socket stays open."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import LongRunningFunctionTool
from sessions_app.chat.protocol import client_frame
from sessions_app.conf import conf
from sessions_app.jobs import response as job_response
from sessions_app.models import Session
from sessions_app.process import celery_dispatch
from sessions_app.routing import websocket_urlpatterns
from tests.fakes import ScriptedModel
from tests.fuzz.conftest import Errors, add_event, said
from tests.fuzz.profile import examples
from tests.fuzz.values import SPECIAL_NUMBERS, json_values, names, nested, texts
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
ASKED = [
    {"id": "c-confirm", "name": "adk_request_confirmation", "args": {}},
    {"id": "c-choose", "name": "choose", "args": {}},
]
WHOLE: list[dict[str, Any]] = [
    {"type": "hello", "after": 0},
    {"type": "message", "id": "m", "text": "hi"},
    {"type": "message", "id": "m", "text": "hi", "replaces": "e-1"},
    {"type": "message", "id": "m", "text": "", "files": [{"name": "a.txt", "version": 0}]},
    {"type": "cancel", "invocation_id": "e-1"},
    {"type": "retry", "invocation_id": "e-1"},
    {"type": "cancel_job", "id": str(uuid4())},
    {"type": "cancel_schedule", "id": 1},
    {"type": "answer_job", "id": str(uuid4()), "number": 0, "answer": "yes"},
    {"type": "confirm", "call_id": "c-confirm", "confirmed": True, "payload": {}},
    {"type": "confirm", "call_id": "c-confirm", "confirmed": True, "for_session": True},
    {"type": "confirm", "call_id": "c-confirm", "confirmed": True, "changes": {"days": 1}},
    {"type": "choose", "call_id": "c-choose", "option": 0},
    {"type": "withdraw_allowance", "agent": "echo", "tool": "choose"},
    {"type": "respond", "call_id": "c-choose", "name": "choose", "response": {}},
    {"type": "ping"},
]
RAW = [
    *(
        "",
        " ",
        "null",
        "[]",
        "{}",
        "5",
        '"x"',
        "{",
        '{"type"',
        "\0",
        "\ufeff{}",
        "NaN",
        '{"v": 1, "type": "ping"} x',
    ),
    *(
        '{"type": NaN}',
        '{"type": "ping", "v": 1e400}',
        '{"type": "ping", "type": "hello"}',
        '{"type": ["ping"]}',
    ),
    *('{"type": "hello", "after": 1' + "0" * 5000 + "}", '{"type": "hello", "after": 1e400}'),
    *(
        '{"type": "message", "id": "m", "text": "\\ud800"}',
        '{"type": "message", "id": "\\u202e", "text": "x"}',
    ),
    *(
        '{"type": "message", "id": "m", "text": "", "files": [{"name": "' + name + '", "version": 0}]}'
        for name in ("\\u0000", "\\ud800", "\\u202e", "items", "../../x", "user:x", "x" * 1025)
    ),
    *('{"type": "message", "id": "m\\u0000", "text": "x"}', '{"type": "mess\\u0000age"}', '{"\\ud800": 1}'),
    *(nested(depth) for depth in (50, 500, 100_000)),
    *(nested(depth, '{"a":', "}") for depth in (50, 500, 40_000)),
    *(
        '{"type": "respond", "call_id": "c-choose", "name": "choose", "response": {"a": ' + value + "}}"
        for value in (
            nested(100),
            nested(190),
            nested(260),
            "NaN",
            "Infinity",
            "-1e400",
            '"\\u0000"',
            '"\\ud800"',
        )
    ),
    *(
        '{"type": "confirm", "call_id": "c-confirm", "confirmed": true, "payload": ' + value + "}"
        for value in (nested(100), nested(190), nested(260), "NaN", "[Infinity]", "1" * 4000, '"\\ud800"')
    ),
]


def choose() -> None:
    """Let the person choose."""


class Tab:
    """The browser's end of the socket of a session."""

    def __init__(self, user: User, session: Session) -> None:
        self.socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
        self.socket.scope["user"] = user

    async def answers(self, text: str) -> list[dict[str, Any]]:
        """Send the frame, then a ping, and return the frames before its pong."""
        await self.socket.send_input({"type": "websocket.receive", "text": text})
        is_ping = frames_type(text) == "ping"
        before_own_pong = await self.read_to("pong") if is_ping else []
        return before_own_pong + await self.until_pong()

    async def until_pong(self) -> list[dict[str, Any]]:
        """Send a ping, and return the frames before its pong."""
        await self.socket.send_to(text_data='{"v": 1, "type": "ping"}')
        return await self.read_to("pong")

    async def read_to(self, kind: str) -> list[dict[str, Any]]:
        """Return the frames before the next one of this kind."""
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1]["type"] != kind:
            message = await self.socket.receive_output(timeout=20)
            assert message["type"] == "websocket.send", message
            frames.append(json.loads(message["text"]))
        return frames[:-1]


def frames_type(text: str) -> str | None:
    """The type of a frame that the protocol knows; None for a bad frame."""
    try:
        return client_frame.validate_json(text).type
    except ValidationError:
        return None


@pytest.fixture
async def tab(
    transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, served: Served
) -> AsyncIterator[Tab]:
    """An open tab of a session in which two calls wait for the person."""
    model = ScriptedModel(rule=lambda request: "Done.")
    tools = [LongRunningFunctionTool(choose, answered_by="person")]
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=model, tools=tools))
    served(app)
    monkeypatch.setattr(job_response, "offer_session", lambda session_id: None)
    monkeypatch.setattr(celery_dispatch, "send_job", lambda job_id, task_name: None)
    settings.ADK = {"max_frames_per_user": 0, "max_frames_per_address": 0}
    conf.cache_clear()
    person = await User.objects.acreate(username="ada")
    session = await Session.objects.acreate(app_name="echo", user=person, key="s-1")
    parts = [{"functionCall": call} for call in ASKED]
    asking = said(
        "asked", content={"role": "model", "parts": parts}, longRunningToolIds=["c-confirm", "c-choose"]
    )
    await sync_to_async(add_event)(session, asking)
    opened = Tab(person, session)
    await opened.socket.connect()
    await opened.socket.send_to(text_data='{"v": 1, "type": "hello", "after": 0}')
    await opened.read_to("event")
    yield opened
    conf.cache_clear()
    await opened.socket.disconnect()


async def broken_rules(tab: Tab, text: str, errors: Errors) -> list[str]:
    """Send the frame; return the rules that its answer breaks. The socket must stay open."""
    is_known = frames_type(text) is not None
    refusals = [frame for frame in await tab.answers(text) if frame["type"] == "error"]
    broken = {
        "a known frame has at most one error, a bad one has one": len(refusals) > 1
        or (len(refusals) == 0 and not is_known),
        "an error has a sentence and a code of its own": not all(
            refusal["message"].strip() and refusal["code"] != "error" for refusal in refusals
        ),
    }
    return [*(f"{rule}: {refusals}" for rule, is_broken in broken.items() if is_broken), *errors.taken()]


async def test_a_frame_that_is_known_to_be_odd_is_answered(tab: Tab, errors: Errors) -> None:
    for text in RAW:
        assert await broken_rules(tab, text, errors) == [], f"{text[:60]} ({len(text)})"


async def test_binary_frames_are_answered(tab: Tab, errors: Errors) -> None:
    for data in (b"", b"\0", b"\xff\xfe", b'{"v": 1, "type": "ping"}', b"x" * 1_000_000):
        await tab.socket.send_input({"type": "websocket.receive", "bytes": data})
        assert [frame["type"] for frame in await tab.until_pong()] == ["error"]


async def test_a_frame_of_a_megabyte_closes_the_socket_with_its_code(tab: Tab, errors: Errors) -> None:
    assert conf().frame_limit < 1_000_000
    await tab.socket.send_to(text_data="[" * 1_000_000)
    outputs = [await tab.socket.receive_output(timeout=20)]
    while outputs[-1]["type"] == "websocket.send":
        outputs.append(await tab.socket.receive_output(timeout=20))
    assert outputs[-1] == {"type": "websocket.close", "code": 4413}
    assert "error" in [json.loads(output["text"])["type"] for output in outputs[:-1]]


changes = st.one_of(
    st.tuples(st.just("set"), names, json_values),
    st.tuples(
        st.just("replace"), st.integers(0, 5), st.one_of(json_values, st.sampled_from(SPECIAL_NUMBERS))
    ),
    st.tuples(st.just("drop"), st.integers(0, 5), st.none()),
)


def changed(frame: dict[str, Any], change: tuple[str, Any, Any]) -> dict[str, Any]:
    kind, place, value = change
    if kind != "set" and not frame:
        return frame
    key = place if kind == "set" else list(frame)[place % len(frame)]
    rest = {name: kept for name, kept in frame.items() if name != key}
    return rest if kind == "drop" else {**rest, key: value}


@given(st.sampled_from(WHOLE), st.lists(changes, max_size=2))
@examples(150)
async def test_a_changed_frame_is_answered(
    tab: Tab, errors: Errors, frame: dict[str, Any], several: list[tuple[str, Any, Any]]
) -> None:
    for change in several:
        frame = changed(frame, change)
    assert await broken_rules(tab, json.dumps({"v": 1, **frame}), errors) == []


@given(
    st.one_of(texts, json_values.map(json.dumps)).filter(
        lambda text: "\ud800" not in text and "\udfff" not in text
    )
)
@examples(50)
async def test_any_text_is_answered(tab: Tab, errors: Errors, text: str) -> None:
    assert await broken_rules(tab, text, errors) == []
