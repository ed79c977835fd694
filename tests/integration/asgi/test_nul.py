"""Contract: NUL, which PostgreSQL cannot hold, is refused wherever a request has it, and fails no page or socket."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import Session
from sessions_app.routing import websocket_application
from tests.integration.socket_tab import Websocket

NUL_COOKIE = r'"a\000b"'
"""A quoted cookie may hold any byte, written as an octal number."""


@pytest.fixture
def addresses(person: User, background_end: None) -> list[str]:
    session = Session.objects.create(app_name="help_desk", user=person, key="s-1")
    names = [reverse("login"), reverse("chat:home"), reverse("chat:session", args=[session.pk])]
    return [*names, reverse("admin:login"), "/nowhere"]


def test_a_query_string_with_nul_is_refused(client: Client, person: User, addresses: list[str]) -> None:
    client.force_login(person)
    for address in addresses:
        for query in ("page=%00", "%00=1", "next=/%00", "a=%2500&b=%00"):
            assert client.get(f"{address}?{query}").status_code == 400, f"{address}?{query}"
        assert client.get(f"{address}?page=%2500").status_code != 400, address


def test_people_get_a_page_that_names_the_nul(client: Client, addresses: list[str]) -> None:
    browser = {"accept": "text/html,*/*;q=0.8"}
    for address in (*addresses, reverse("admin:index"), f"{settings.STATIC_URL}x%00"):
        refused = client.get(f"{address}?a=%00", headers=browser)
        assert refused.status_code == 400, address
        page = refused.content.decode()
        assert "The address or a cookie has a NUL character: remove it." in page, address
        assert '<a class="button" href="/">' in page, address
        assert "default-src" in refused["Content-Security-Policy"], address
    found = client.get("/api/v1/apps?a=%00", headers=browser)
    assert found.status_code == 400 and found.json()["errors"][0]["field"] == "query"


def test_a_path_with_nul_is_refused(client: Client, person: User, addresses: list[str]) -> None:
    client.force_login(person)
    for address in addresses:
        assert client.get(f"{address}%00").status_code == 400, address


@pytest.mark.parametrize("name", [settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, "other"])
def test_a_cookie_with_nul_is_refused(client: Client, addresses: list[str], name: str) -> None:
    for address in addresses:
        assert client.get(address, headers={"cookie": f"{name}={NUL_COOKIE}"}).status_code == 400, address


@pytest.mark.usefixtures("loop_end")
async def test_a_socket_with_a_nul_in_its_cookie_is_refused(person: User) -> None:
    session = await Session.objects.acreate(app_name="help_desk", user=person, key="s-1")
    cookie = f"{settings.SESSION_COOKIE_NAME}={NUL_COOKIE}".encode()
    headers = [(b"host", b"testserver"), (b"origin", b"http://testserver"), (b"cookie", cookie)]
    socket = Websocket(websocket_application, f"/ws/chat/{session.pk}/", headers=headers)
    connected, _ = await socket.connect()
    assert not connected
