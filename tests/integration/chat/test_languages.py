"""Contract: pages, frames and events are in the language and the time zone of the person who reads them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from runtime.agents import LlmAgent
from sessions_app import use_cases
from sessions_app.models import Invocation, Session, UserState
from sessions_app.rendering.html import render_event
from sessions_app.rendering.session_view import SessionView
from sessions_app.routing import websocket_application
from sessions_app.scheduling.task_timing import zone_for
from tests.fakes import ScriptedModel
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")

HOSTILE = [
    "../../etc/passwd",
    "de\r\nSet-Cookie: a=b",
    "x" * 5_000,
    "<script>",
    "de;es",
    "%00",
    "Mars/Olympus",
    "é",
]


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel(rule=lambda request: "one two three")
    served(LlmAgent(name="echo", model=model))
    return model


@pytest.fixture
async def session(person: User, model: ScriptedModel) -> Session:
    return await use_cases.create_session(person, "echo")


@asynccontextmanager
async def socket_of(
    browser: AsyncClient, session: Session, accept_language: str = "", query: str = "", **cookies: str
) -> AsyncIterator[Websocket]:
    """Open a socket of the signed-in browser with further cookies; its first frame, `ready`, is read."""
    pairs = {"sessionid": browser.cookies["sessionid"].value, **cookies}
    headers = [
        (b"host", b"localhost"),
        (b"origin", b"http://localhost"),
        (b"cookie", "; ".join(f"{name}={value}" for name, value in pairs.items()).encode()),
        (b"accept-language", accept_language.encode()),
    ]
    socket = Websocket(websocket_application, f"/ws/chat/{session.pk}/{query}", headers)
    assert (await socket.connect(timeout=5))[0]
    await socket.send_to(json.dumps({"v": 1, "type": "hello", "after": 0}))
    assert (await read(socket))["type"] == "ready"
    yield socket
    await socket.disconnect()


async def read(socket: Websocket) -> dict[str, Any]:
    frame: dict[str, Any] = json.loads(await socket.receive_from(timeout=5))
    return frame


async def read_until(socket: Websocket, kind: str, **fields: Any) -> dict[str, Any]:
    while True:
        frame = await read(socket)
        if frame["type"] == kind and fields.items() <= frame.items():
            return frame


@pytest.mark.parametrize(
    ("accepted", "language", "direction", "words"),
    [
        ("de-CH,de;q=0.9,en;q=0.5", "de", "ltr", "Mit wem möchten Sie sprechen?"),
        ("es-AR", "es", "ltr", "¿Con quién desea hablar?"),
        ("ar", "ar", "rtl", "مع من تود التحدث؟"),
        ("fr,tlh;q=0.8", "en", "ltr", "Who would you like to talk to?"),
        ("", "en", "ltr", "Who would you like to talk to?"),
    ],
)
async def test_a_page_is_in_the_language_that_the_browser_accepts(
    browser: AsyncClient, model: ScriptedModel, accepted: str, language: str, direction: str, words: str
) -> None:
    response = await browser.get("/", headers={"Accept-Language": accepted})
    html = response.content.decode()
    assert f'<html lang="{language}" dir="{direction}" data-theme="system"' in html and words in html
    assert (f"sentences/{language}.js" in html) == (language != "en")


async def test_a_chosen_language_and_theme_win_and_hold_after_signing_out(
    browser: AsyncClient, model: ScriptedModel
) -> None:
    chosen = {"language": "ar", "theme": "dark", "next": "/?archived=1"}
    response = await browser.post("/preferences/", chosen)
    assert (response.status_code, response["Location"]) == (302, "/?archived=1")
    html = (await browser.get("/", headers={"Accept-Language": "de"})).content.decode()
    assert '<html lang="ar" dir="rtl" data-theme="dark"' in html and 'content="dark"' in html
    await browser.post("/accounts/logout/")
    html = (await browser.get("/accounts/login/")).content.decode()
    assert '<html lang="ar" dir="rtl" data-theme="dark"' in html and "تسجيل الدخول" in html


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_choices_and_cookies_change_nothing(transactional_db: None, value: str) -> None:
    client = Client()
    response = client.post(
        "/preferences/",
        {"language": value, "theme": value, "time_zone": value, "next": f"https://evil.example/{value}"},
    )
    assert response.status_code == 302 and "evil" not in response["Location"]
    names = ("django_language", "adk_theme", "adk_time_zone", "adk_chosen_time_zone")
    assert not {*names} & client.cookies.keys()
    # The jar of the client refuses control characters from Python 3.14 on.
    coded_value = SimpleCookie().value_encode(value)[1]
    cookies = "; ".join(f"{name}={coded_value}" for name in names)
    response = client.get("/accounts/login/", headers={"cookie": cookies})
    assert response.status_code in (200, 400)  # 400: a NUL
    assert (
        response.status_code == 400
        or '<html lang="en" dir="ltr" data-theme="system"' in response.content.decode()
    )


async def test_a_chosen_time_zone_wins_over_that_of_the_browser_until_it_is_taken_back(
    browser: AsyncClient, person: User, session: Session
) -> None:
    browser.cookies["adk_time_zone"] = "Asia/Tokyo"
    await browser.post("/preferences/", {"time_zone": "America/New_York", "next": "/settings/"})
    html = (await browser.get("/settings/")).content.decode()
    assert 'data-time-zone="America/New_York"' in html and '"America/New_York" selected' in html
    cookies = {name: morsel.value for name, morsel in browser.cookies.items() if name != "sessionid"}
    async with socket_of(browser, session, **cookies):
        state = await UserState.objects.aget(app_name="echo", user=person)
        assert state.state == {"browser_time_zone": "America/New_York"}
    await browser.post("/preferences/", {"time_zone": "", "next": "/settings/"})
    assert browser.cookies["adk_chosen_time_zone"].value == ""
    assert "data-time-zone" not in (await browser.get("/settings/")).content.decode()


async def test_a_refused_frame_is_answered_in_the_language_of_the_connection(
    browser: AsyncClient, session: Session
) -> None:
    message = json.dumps({"v": 1, "type": "message", "id": "m1", "text": " "})
    async with socket_of(browser, session, "es-MX") as spanish:
        await spanish.send_to(message)
        assert (await read_until(spanish, "error"))[
            "message"
        ] == "El mensaje está vacío. Escriba algo primero."
    async with socket_of(browser, session, "es-MX", django_language="de") as german:
        await german.send_to(json.dumps({"v": 1, "type": "message", "id": "m2", "text": "x" * 40_000}))
        error = (await read_until(german, "error"))["message"]
        assert error == "Die Nachricht hat 40000 Zeichen; erlaubt sind 32000. Senden Sie sie in Teilen."


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?language=de", "Die Nachricht ist leer. Schreiben Sie zuerst etwas."),
        ("?language=tlh", "El mensaje está vacío. Escriba algo primero."),
        ("?language=%FF", "El mensaje está vacío. Escriba algo primero."),
    ],
)
async def test_a_connection_speaks_the_language_of_its_page(
    browser: AsyncClient, session: Session, query: str, message: str
) -> None:
    async with socket_of(browser, session, "es-MX", query) as socket:
        await socket.send_to(json.dumps({"v": 1, "type": "message", "id": "m1", "text": " "}))
        assert (await read_until(socket, "error"))["message"] == message


async def test_two_tabs_read_an_event_each_in_its_language_rendered_once_for_each(
    browser: AsyncClient, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []

    def render(view: SessionView, *rest: Any) -> str:
        rendered.append(view.reader.language)
        return render_event(view, *rest)

    monkeypatch.setattr("sessions_app.rendering.event_html.render_event", render)
    async with (
        socket_of(browser, session, "de", adk_time_zone="Asia/Tokyo") as german,
        socket_of(browser, session, "de", adk_time_zone="Asia/Tokyo") as other,
        socket_of(browser, session, "ar") as arabic,
    ):
        await german.send_to(json.dumps({"v": 1, "type": "message", "id": "m1", "text": "Hello"}))
        tabs = {"german": german, "other": other, "arabic": arabic}
        html = {name: (await read_until(tab, "event", seq=1))["html"] for name, tab in tabs.items()}
        for tab in tabs.values():
            await read_until(tab, "event", seq=2)
    assert ">Sie<" in html["german"] and "+09:00" in html["german"] and html["other"] == html["german"]
    assert ">أنت<" in html["arabic"] and "+00:00" in html["arabic"]
    assert sorted(rendered) == ["ar", "ar", "de", "de"]


async def test_a_stored_error_is_english_in_the_database_and_translated_where_it_is_read(
    browser: AsyncClient, session: Session
) -> None:
    stored = "This took longer than 600 s, so it was stopped. Ask for less at once."
    fields = {"client_id": "m1", "message": {"parts": [{"text": "Hello"}]}, "status": "failed"}
    await Invocation.objects.acreate(
        session=session, invocation_id=f"e-{uuid4()}", error_message=stored, **fields
    )
    page = await browser.get(f"/chat/{session.pk}/", headers={"Accept-Language": "de"})
    assert "600 s gedauert und wurde deshalb gestoppt" in page.content.decode()
    assert (await Invocation.objects.aget(session=session)).error_message == stored


async def test_a_scheduled_task_is_computed_in_the_time_zone_of_the_browser(
    browser: AsyncClient, person: User, session: Session, model: ScriptedModel
) -> None:
    async with socket_of(browser, session, adk_time_zone="Asia/Tokyo"):
        state = await UserState.objects.aget(app_name="echo", user=person)
        assert state.state == {"browser_time_zone": "Asia/Tokyo"}
    async with socket_of(browser, session, adk_time_zone="Nowhere/At-all"):
        await state.arefresh_from_db()
        assert state.state == {"browser_time_zone": "Asia/Tokyo"}
    loaded = {"user:browser_time_zone": "Asia/Tokyo"}
    assert zone_for(loaded).key == "Asia/Tokyo"
    assert zone_for({**loaded, "user:time_zone": "Europe/Berlin"}).key == "Europe/Berlin"
