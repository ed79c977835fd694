"""Contract: a site below a path, by `FORCE_SCRIPT_NAME`, gets its pages, websockets and event streams there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient, override_settings
from django.urls import set_script_prefix

from runtime.agents import LlmAgent
from sessions_app import use_cases
from sessions_app.routing import websocket_application
from tests.fakes import ScriptedModel
from tests.integration.socket_tab import SiteTab, Websocket
from tests.integration.stream_tab import StreamTab
from tests.served_agents import Served

PREFIX = "/shop"

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture(autouse=True)
def without_prefix() -> Iterator[None]:
    yield
    set_script_prefix("/")


@pytest.mark.parametrize("proxy_strips", [False, True])
async def test_the_page_names_a_socket_and_a_stream_that_are_there(
    browser: AsyncClient, person: User, served: Served, proxy_strips: bool
) -> None:
    served(LlmAgent(name="echo", model=ScriptedModel(rule=lambda request: "hi")))
    session = await use_cases.create_session(person, "echo")
    reached = "" if proxy_strips else PREFIX
    with override_settings(FORCE_SCRIPT_NAME=PREFIX):
        set_script_prefix(PREFIX)  # The test client does not, as a server does.
        page = (await browser.get(f"{reached}/chat/{session.pk}/")).content.decode()
        addresses = re.search(r'data-socket="([^"]+)".*?\sdata-events="([^"]+)"', page, re.DOTALL)
        assert addresses and addresses.groups() == (
            f"{PREFIX}/ws/chat/{session.pk}/",
            f"{PREFIX}/chat/{session.pk}/events/",
        )
        tab = SiteTab(browser, session)
        tab.socket = Websocket(
            websocket_application, f"{reached}/ws/chat/{session.pk}/", headers=tab.socket.scope["headers"]
        )
        assert (await tab.open())["type"] == "ready"
        await tab.leave()
        stream = StreamTab(browser, session.pk, root_path=reached)
        await stream.open()
        assert stream.status == 200
        await stream.leave()
