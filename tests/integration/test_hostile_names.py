"""Names that people, models and tools choose, and events that cannot be rendered: no page or socket goes down."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from channels.routing import URLRouter
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.models import Event, ScheduledTask, Session, ToolJob, UserState
from sessions_app.process import threads
from sessions_app.rendering.event_html import cache
from sessions_app.rendering.once_filter import once
from sessions_app.routing import websocket_urlpatterns
from tests.fakes import ScriptedModel, call
from tests.integration.admin.audit_rows import MODELS, append_event, make_job, make_scheduled_task, page_of
from tests.integration.chat.pages.page_helpers import page
from tests.integration.socket_tab import Websocket
from tests.integration.tampering import tamper
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("background_end")

TEMPLATES = Path(__file__).parents[2] / "templates"
NAMES = (
    "items",
    "keys",
    "values",
    "get",
    "__class__",
    "forloop",
    "k" * 200,
    "\u202eRTL\u200f",
    "{{ x }}",
    "a.b",
    "",
)
VALUES = {name: f"value {number}" for number, name in enumerate(NAMES)}
CALL = {"functionCall": {"id": "c-1", "name": "items", "args": VALUES}}
RESPONSE = {"functionResponse": {"id": "c-1", "name": "items", "response": VALUES}}
QUESTION = {
    "functionCall": {
        "id": "c-2",
        "name": "adk_request_confirmation",
        "args": {"originalFunctionCall": {"name": "get", "args": VALUES}, "toolConfirmation": {"hint": ""}},
    }
}


@pytest.fixture(autouse=True)
def details(settings: Settings) -> None:
    settings.ADK = {"show_details": True}


@pytest.fixture
def session(person: User) -> Session:
    return Session.objects.create(app_name="help_desk", user=person, key="s-1", state=VALUES)


@pytest.fixture(autouse=True)
def new_process() -> None:
    once.forget()
    cache.clear()


def frames_of(person: User, session: Session, count: int) -> list[dict[str, Any]]:
    """Return the first frames of a new tab."""

    async def read() -> list[dict[str, Any]]:
        socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
        socket.scope["user"] = person
        await socket.connect()
        await socket.send_to(text_data=json.dumps({"v": 1, "type": "hello", "after": 0}))
        frames = [json.loads(await socket.receive_from(timeout=5)) for _ in range(count)]
        await socket.disconnect()
        return frames

    return threads.run(read())


def admin_pages(session: Session, job: ToolJob, task: ScheduledTask) -> list[str]:
    return [
        *[reverse(f"admin:sessions_app_{model}_changelist") for model in MODELS],
        page_of(session),
        *[page_of(session, f"?at={seq}") for seq in range(session.last_seq + 1)],
        reverse("admin:sessions_app_tooljob_change", args=[job.pk]),
        reverse("admin:sessions_app_scheduledtask_change", args=[task.pk]),
    ]


def test_no_template_loops_over_a_method_of_a_mapping() -> None:
    """Django looks up the key `items` of a dict before its method."""
    found = {
        str(path.relative_to(TEMPLATES)): calls
        for path in TEMPLATES.rglob("*.html")
        if (calls := re.findall(r"{%[^%]*\.(?:items|keys|values)\b[^%]*%}", path.read_text()))
    }
    assert found == {}


def test_names_of_arguments_keys_and_files_break_no_page_and_no_frame(
    person: User, session: Session, client: Client
) -> None:
    delta = {**VALUES, **{f"user:{name}": value for name, value in VALUES.items()}}
    files = {name: 0 for name in NAMES if name}
    append_event(session, CALL, QUESTION, before=VALUES, longRunningToolIds=["c-1"])
    append_event(session, RESPONSE, actions={"stateDelta": delta, "artifactDelta": files})
    job = make_job(
        session,
        tool_name="items",
        args=VALUES,
        result=VALUES,
        artifacts=files,
        question={
            "kind": "choice",
            "text": "items",
            "options": list(NAMES),
            "asked_at": "2026-11-22T09:00:00Z",
        },
    )
    task = make_scheduled_task(session, task="items")
    UserState.objects.filter(user=person).update(state=VALUES)
    ready, called, answered = frames_of(person, session, 3)
    shown = "".join(
        [called["html"], answered["html"], ready["jobs"][0]["html"], ready["schedules"][0]["html"]]
    )
    assert "cannot be shown" not in shown
    client.force_login(person)
    for url in (page(session), reverse("chat:events", args=[session.id]) + "?before=9"):
        html = client.get(url).content.decode()
        assert "cannot be shown" not in html
        for value in VALUES.values():
            assert f'<dd dir="auto">{value}</dd>' in html
    client.force_login(User.objects.create_superuser("root"))
    for url in admin_pages(session, job, task):
        response = client.get(url)
        assert response.status_code == 200, url
        assert "cannot be shown" not in response.content.decode(), url


async def test_names_of_arguments_and_keys_break_no_live_frame(
    person: User, served: Served, loop_end: None
) -> None:
    def remember(items: str, keys: str, values: str, get: str, tool_context: ToolContext) -> dict[str, str]:
        for name in NAMES:
            tool_context.state[name] = "kept"
        return {"items": items, "keys": keys}

    args = {"items": "1", "keys": "2", "values": "3", "get": "cut \ud800"}
    model = ScriptedModel(turns=[call("remember", None, **args), "done \ud800"])
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=model, tools=[remember]))
    served(app)
    session = await use_cases.create_session(person, "echo")
    socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
    socket.scope["user"] = person
    await socket.connect()
    await socket.send_to(text_data=json.dumps({"v": 1, "type": "hello", "after": 0}))
    await socket.send_to(text_data=json.dumps({"v": 1, "type": "message", "id": "m", "text": "hi"}))
    html: dict[int, str] = {}
    while len(html) < 4:
        frame = json.loads(await socket.receive_from(timeout=5))
        if frame["type"] == "event":
            html[frame["seq"]] = frame["html"]
    await socket.disconnect()
    assert '<dt dir="auto">items</dt><dd dir="auto">1</dd>' in html[2]
    assert 'data-key="keys"' in html[3] and "done" in html[4]
    assert not [seq for seq, shown in html.items() if "cannot be shown" in shown]


def test_an_event_that_cannot_be_rendered_is_one_sentence_in_the_chat_and_one_line_in_the_log(
    person: User, session: Session, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    append_event(session, {"text": "odd"}, timestamp=1e300)
    append_event(session, {"text": "still here"})
    client.force_login(person)
    for _ in range(2):
        html = client.get(page(session)).content.decode()
        assert "This part of the chat cannot be shown. It is kept." in html and "still here" in html
    _, first, second = frames_of(person, session, 3)
    assert "cannot be shown" in first["html"] and "still here" in second["html"]
    assert len([record for record in caplog.records if "cannot be rendered" in record.message]) == 1


def test_a_job_or_scheduled_task_that_cannot_be_rendered_does_not_stop_the_greeting(
    person: User, session: Session
) -> None:
    make_job(session, question={"kind": "text", "text": "Why?", "asked_at": "never"})
    (ready,) = frames_of(person, session, 1)
    assert "cannot be shown" in ready["jobs"][0]["html"]


@pytest.mark.parametrize(
    "odd",
    [
        {"content": {"parts": [{"functionCall": {"id": "c-1", "name": "f", "args": [1]}}]}},
        {"actions": {"stateDelta": [1], "artifactDelta": "none"}},
        {"content": {"parts": [{"text": {"no": "text"}}]}},
    ],
)
def test_an_event_that_cannot_be_rendered_is_one_marked_row_in_the_admin(
    session: Session, client: Client, odd: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    event = append_event(session)
    tamper(lambda: Event.objects.filter(pk=event.pk).update(body={**event.body, **odd}))
    append_event(session, {"text": "still here"})
    client.force_login(User.objects.create_superuser("root"))
    for url in (page_of(session), page_of(session, "?at=2"), page_of(session, "?at=1")):
        html = client.get(url).content.decode()
        assert "Event 1 (id-1) cannot be shown. It is kept." in html and "still here" in html
    assert client.get(reverse("admin:sessions_app_event_changelist")).status_code == 200
    assert Event.objects.filter(session=session).count() == 2
    assert len([record for record in caplog.records if "cannot be shown in the admin" in record.message]) == 1
