"""Sockets of people who sign out, are deactivated or change their password, in this process and in another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as SignInRow
from django.test import AsyncClient
from pytest_django import Settings

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.chat.frame_sender import MAX_REPLY_CHARACTERS
from sessions_app.chat.viewer import SessionViewer
from sessions_app.live.process import live
from sessions_app.live.relay import Relay
from sessions_app.models import Invocation, Session
from sessions_app.secrets.digests import digest_of
from tests.fakes import ScriptedModel
from tests.integration.socket_tab import OWN, SiteTab
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("own_layer", "loop_end")
NO_TICK = {"heartbeat_seconds": 20.0, "lease_seconds": 120.0}
"""No tick during a test: a tab waits five seconds for a frame."""


@pytest.fixture
async def session(person: User, served: Served) -> Session:
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=ScriptedModel(rule=lambda request: "hi")))
    served(app)
    return await use_cases.create_session(person, "echo")


@asynccontextmanager
async def open_tab(browser: AsyncClient, session: Session) -> AsyncIterator[SiteTab]:
    tab = SiteTab(browser, session)
    try:
        await tab.open()
        yield tab
    finally:
        await tab.leave()


async def sign_out(browser: AsyncClient, person: User) -> None:
    await browser.alogout()


async def deactivate(browser: AsyncClient, person: User) -> None:
    person.is_active = False
    await person.asave()


async def change_password(browser: AsyncClient, person: User) -> None:
    person.set_password("another")
    await person.asave(update_fields=["password"])


async def delete_account(browser: AsyncClient, person: User) -> None:
    await User.objects.filter(pk=person.pk).adelete()


CHANGES = [sign_out, deactivate, change_password, delete_account]
Change = Callable[[AsyncClient, User], Awaitable[None]]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_of_the_account_closes_its_sockets_without_a_tick(
    change: Change, browser: AsyncClient, person: User, session: Session, settings: Settings
) -> None:
    settings.ADK = NO_TICK
    live().relay.on_followed = (
        None  # Its check is a tick, too, and may find the session gone with the account.
    )
    async with open_tab(browser, session) as tab:
        await change(browser, person)
        assert await tab.close_code() == 4401


async def deactivate_by_sql(browser: AsyncClient, person: User) -> None:
    await User.objects.filter(pk=person.pk).aupdate(is_active=False)


async def expire(browser: AsyncClient, person: User) -> None:
    await SignInRow.objects.all().adelete()


@pytest.mark.parametrize("change", [deactivate_by_sql, expire])
async def test_a_change_that_no_signal_tells_closes_the_sockets_on_a_tick(
    change: Change, browser: AsyncClient, person: User, session: Session, settings: Settings
) -> None:
    settings.ADK = {"heartbeat_seconds": 0.1}
    async with open_tab(browser, session) as tab:
        await change(browser, person)
        assert await tab.close_code() == 4401


async def test_sign_ins_are_checked_in_a_process_whose_first_news_came_from_an_http_request(
    browser: AsyncClient, person: User, session: Session, settings: Settings
) -> None:
    settings.ADK = {"heartbeat_seconds": 0.1}
    assert (await browser.post(f"/chat/{session.pk}/pin/")).status_code == 204
    async with open_tab(browser, session) as tab:
        await deactivate_by_sql(browser, person)
        assert await tab.close_code() == 4401


async def test_a_new_secret_key_signs_nobody_out_while_the_old_one_is_a_fallback(
    browser: AsyncClient, session: Session, settings: Settings
) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "of today", [settings.SECRET_KEY]
    async with open_tab(browser, session) as tab:
        await live().sign_ins.check_all()
        await tab.send(type="ping")
        assert (await tab.receive())["type"] == "pong"
    assert (await browser.get(f"/chat/{session.pk}/")).status_code == 200


async def test_a_new_secret_key_without_the_old_one_ends_sign_ins(
    browser: AsyncClient, session: Session, settings: Settings
) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "of today", []
    tab = SiteTab(browser, session)
    await tab.socket.send_input({"type": "websocket.connect"})
    assert (await tab.socket.receive_output(timeout=5))["type"] == "websocket.accept"
    assert await tab.close_code() == 4401
    assert await SignInRow.objects.acount() == 1
    assert (await browser.get(f"/chat/{session.pk}/")).status_code == 302


async def test_sockets_of_other_sign_ins_stay_open(
    browser: AsyncClient, person: User, session: Session
) -> None:
    elsewhere = AsyncClient()
    await elsewhere.aforce_login(person)
    async with open_tab(browser, session) as here, open_tab(elsewhere, session) as there:
        await browser.alogout()
        assert await here.close_code() == 4401
        await live().sign_ins.check_all()
        await there.send(type="ping")
        assert (await there.receive())["type"] == "pong"


async def test_a_sign_out_in_another_process_closes_the_sockets_here(
    browser: AsyncClient, person: User, session: Session
) -> None:
    async with open_tab(browser, session) as tab:
        key = browser.cookies["sessionid"].value
        await _tell_from_another_process(lambda relay: relay.send_sign_out(digest_of(key)))
        assert await tab.close_code() == 4401


async def test_a_deactivation_in_another_process_closes_the_sockets_here(
    browser: AsyncClient, person: User, session: Session, settings: Settings
) -> None:
    settings.ADK = NO_TICK
    async with open_tab(browser, session) as tab:
        await deactivate_by_sql(browser, person)
        await _tell_from_another_process(lambda relay: relay.send_account_change(str(person.pk)))
        assert await tab.close_code() == 4401


async def test_a_frame_after_the_sign_out_writes_nothing(
    browser: AsyncClient, person: User, session: Session, settings: Settings
) -> None:
    """The check before the frame itself: no tick and no signal has told of the change."""
    tab = SiteTab(browser, session)
    settings.ADK = NO_TICK
    await tab.open()
    await deactivate_by_sql(browser, person)
    settings.ADK = {**NO_TICK, "heartbeat_seconds": 0.001}
    await tab.send(type="message", id="m1", text="as the old person")
    assert await tab.close_code() == 4401
    settings.ADK = NO_TICK
    await tab.send(type="message", id="m2", text="once more")
    await tab.leave()
    assert not await Invocation.objects.filter(session=session).aexists()


@pytest.mark.parametrize(
    ("origin", "is_refused"),
    [
        (OWN, False),
        ("http://localhost:9000", True),
        ("https://localhost:8000", True),
        ("http://elsewhere.example", True),
        ("https://trusted.example", False),
        ("", True),
    ],
)
async def test_a_page_of_another_port_scheme_or_host_opens_no_socket(
    origin: str, is_refused: bool, browser: AsyncClient, session: Session, settings: Settings
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://trusted.example"]
    tab = SiteTab(browser, session, origin)
    connected, _ = await tab.socket.connect()
    assert connected is not is_refused
    await tab.leave()


async def test_a_socket_behind_the_https_proxy_and_one_of_an_unknown_host(
    browser: AsyncClient, session: Session, settings: Settings
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    proxied = SiteTab(browser, session, "https://localhost", host="localhost")
    proxied.socket.scope["headers"].append((b"x-forwarded-proto", b"https"))
    assert (await proxied.socket.connect())[0]
    await proxied.leave()
    unknown = SiteTab(browser, session, "http://unknown.example", host="unknown.example")
    assert not (await unknown.socket.connect())[0]


async def _tell_from_another_process(tell: Callable[[Relay], Any]) -> None:
    relay = Relay()
    tell(relay)
    await relay.flush()


class StalledBrowser:
    """Transport to a browser that never reads, and is closed with `codes`."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    async def send(self, frame: str) -> None:
        await asyncio.Event().wait()

    async def close(self, code: int) -> None:
        self.codes.append(code)


async def test_a_browser_that_does_not_read_is_not_greeted_after_signing_out(
    person: User, session: Session
) -> None:
    browser = StalledBrowser()
    viewer = SessionViewer(session.pk, person, browser)
    await viewer.on_hello(0)
    while viewer.sender.post("x" * MAX_REPLY_CHARACTERS):
        pass
    await asyncio.sleep(0)  # The viewer begins to wait for the browser.
    viewer.sender.on_signed_out()
    await asyncio.wait({task for task in asyncio.all_tasks() if task.get_name().startswith("viewer of")})
    assert browser.codes == [4401]
    assert live().hub.watchers(session.pk) == ()
