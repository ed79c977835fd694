"""A program without a key signs in by OAuth: the SDK's own client does all steps, and hostile requests get nothing."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils import timezone
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from sessions_app.contrib.mcp import programs
from sessions_app.models import AccountAct, ApiKey
from tests.a2a_server import free_socket
from tests.fakes import ScriptedModel
from tests.integration.contrib.mcp.clients import texts_of
from tests.integration.contrib.mcp.test_tasks import HELLO
from tests.integration.contrib.mcp.test_tools import PAGE

RETURN = "http://127.0.0.1:3030/callback"
VERIFIER = "v" * 64
CHALLENGE = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
EVIL = "https://evil.example/"


def csrf_token(page: httpx2.Response) -> str:
    return str(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0])


class Desk:
    """A person at a browser, and a program of theirs that keeps its tokens. The person presses the button."""

    def __init__(self, site: str, browser: AsyncClient) -> None:
        self.site = site
        self.button = "allow"
        self.pages: list[str] = []
        self.tokens: OAuthToken | None = None
        self.registered: OAuthClientInformationFull | None = None
        cookies = {"sessionid": browser.cookies["sessionid"].value}
        self.http = httpx2.AsyncClient(base_url=site, cookies=cookies, timeout=30)
        self.client_id = ""
        self._opened = ""

    # The storage of the SDK's client.
    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.registered

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.registered = client_info

    async def open(self, url: str) -> None:
        self._opened = url

    async def come_back(self) -> AuthorizationCodeResult:
        answer = await self.press(self._opened, self.button)
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer["state"], iss=answer["iss"])

    async def press(self, url: str, button: str) -> dict[str, str]:
        """Open the page, press a button, and return what the program is told."""
        page = await self.http.get(url)
        assert page.status_code == 200, page.text
        self.pages.append(unescape(page.text))
        token = csrf_token(page)
        sent = await self.http.post(url, data={"csrfmiddlewaretoken": token, button: ""})
        assert sent.status_code == 302
        back, _, query = sent.headers["location"].partition("?")
        assert back == parse_qs(urlsplit(url).query)["redirect_uri"][0]
        allowed = re.findall("form-action 'self' ([^;]*)", page.headers["content-security-policy"])
        assert allowed == [f"http://{urlsplit(back).netloc}"]
        return {name: value for name, [value] in parse_qs(query).items()}

    @asynccontextmanager
    async def program(self) -> AsyncGenerator[Client, None]:
        """The SDK's client with what it has stored."""
        metadata = OAuthClientMetadata(client_name="Editor\u202e", redirect_uris=[AnyUrl(RETURN)])
        auth = OAuthClientProvider(f"{self.site}/mcp", metadata, self, self.open, self.come_back)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30) as http,
            Client(streamable_http_client(f"{self.site}/mcp", http_client=http)) as client,
        ):
            yield client

    async def register(self, **fields: Any) -> httpx2.Response:
        fields = {"client_name": "Program", "redirect_uris": [RETURN]} | fields
        return await self.http.post("/mcp/register", json=fields)

    async def request(self, **changed: Any) -> str:
        """Return the address that a program opens, with its parameters changed."""
        self.client_id = (await self.register()).json()["client_id"]
        fields = {
            "client_id": self.client_id,
            "redirect_uri": RETURN,
            "response_type": "code",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": f"{self.site}/mcp",
        } | changed
        given = {name: value for name, value in fields.items() if value is not None}
        return f"/authorize/?{urlencode(given, doseq=True)}"

    async def exchange(self, **changed: Any) -> httpx2.Response:
        fields = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "redirect_uri": RETURN,
            "code_verifier": VERIFIER,
            "resource": f"{self.site}/mcp",
        } | changed
        return await self.http.post(
            "/mcp/token",
            content=urlencode(fields),
            headers={"content-type": "application/x-www-form-urlencoded"},
        )


@pytest.fixture
async def desk(site: str, browser: AsyncClient) -> AsyncGenerator[Desk, None]:
    desk = Desk(site, browser)
    async with desk.http:
        yield desk


async def test_a_program_signs_in_once_and_again_when_its_key_has_ended(
    person: User, desk: Desk, model: ScriptedModel
) -> None:
    model.turns += ["Good day."] * 4
    async with desk.program() as client:
        assert texts_of(await client.call_tool("desk", HELLO)) == ["Good day."]
    [page] = desk.pages
    assert r'<strong dir="auto">Editor\u202e</strong>' in page and RETURN in page and "30 days" in page
    key = await ApiKey.objects.aget()
    assert (key.name, key.user_id, key.scopes) == (r"Editor\u202e", person.pk, ["read", "run", "answer"])
    assert key.expires_at is not None and 29 <= (key.expires_at - timezone.now()).days <= 30
    assert await AccountAct.objects.filter(actor_id=str(person.pk), action="add").aexists()
    assert desk.tokens is not None and desk.tokens.access_token not in str(
        await ApiKey.objects.values().aget()
    )

    async with desk.program() as client:
        assert texts_of(await client.call_tool("desk", HELLO)) == ["Good day."]
    assert len(desk.pages) == 1, "the stored key is good"
    await ApiKey.objects.aupdate(expires_at=timezone.now())
    async with desk.program() as client:
        assert texts_of(await client.call_tool("desk", HELLO)) == ["Good day."]
    assert len(desk.pages) == 2, "the key has expired"

    keys = await desk.http.get("/keys/")
    [revoke] = re.findall(r'action="(/keys/[^"]+/revoke/)"', keys.text)
    assert r"Editor\u202e" in keys.text
    await desk.http.post(revoke, data={"csrfmiddlewaretoken": csrf_token(keys)})
    async with desk.program() as client:
        assert texts_of(await client.call_tool("desk", HELLO)) == ["Good day."]
    assert len(desk.pages) == 3, "the key is revoked"


async def test_a_refusal_is_told_to_the_program_and_gives_no_key(desk: Desk) -> None:
    desk.button = "refuse"
    with pytest.raises(BaseExceptionGroup) as refused:
        async with desk.program():
            pass
    assert "No authorization code received" in repr(refused.value)
    told = await desk.press(await desk.request(state="s1"), "refuse")
    assert told == {"error": "access_denied", "state": "s1", "iss": desk.site}
    assert not await ApiKey.objects.aexists()


async def test_a_program_of_a_person_without_the_right_sees_no_agent(
    desk: Desk, configure: Callable[..., None]
) -> None:
    configure(apps={"desk": {"access": "permission"}, "private": {"access": "hidden"}})
    async with desk.program() as client:
        assert (await client.list_tools()).tools == []
        with pytest.raises(Exception, match="no such agent here, or you may not use it"):
            await client.call_tool("desk", HELLO)


async def test_a_program_gets_no_more_than_it_asks_for(desk: Desk) -> None:
    code = (await desk.press(await desk.request(scope="read"), "allow"))["code"]
    assert "Send messages" not in desk.pages[0]
    got = await desk.exchange(code=code)
    assert (got.status_code, got.json()["scope"], got.headers["cache-control"]) == (200, "read", "no-store")
    assert (await ApiKey.objects.aget()).scopes == ["read"]


async def test_a_program_on_the_persons_computer_may_use_another_port(desk: Desk) -> None:
    other = RETURN.replace("3030", "51234")
    code = (await desk.press(await desk.request(redirect_uri=other), "allow"))["code"]
    assert (await desk.exchange(code=code)).json()["error"] == "invalid_grant"
    assert (await desk.exchange(code=code, redirect_uri=other)).status_code == 200


WRONG_REQUESTS: list[dict[str, Any]] = [
    {"redirect_uri": EVIL},
    {"redirect_uri": f"{RETURN}/other"},
    {"redirect_uri": "https://127.0.0.1:3030/callback"},
    {"redirect_uri": f"{RETURN}#fragment"},
    {"redirect_uri": "http://127.0.0.1:3030\\@evil.example/callback"},
    {"redirect_uri": [RETURN, EVIL]},
    {"redirect_uri": None},
    {"client_id": "forged"},
    {"client_id": programs.Grant("1", "1", "", RETURN, "", "", []).code},
    {"response_type": "token"},
    {"code_challenge_method": "plain"},
    {"code_challenge_method": None},
    {"code_challenge": None},
    {"code_challenge": "short"},
    {"resource": None},
    {"resource": f"{EVIL}mcp"},
    {"scope": "read manage"},
]


async def test_a_wrong_request_is_told_to_the_person_and_sends_them_nowhere(desk: Desk) -> None:
    right = await desk.http.get(await desk.request())
    form = {"csrfmiddlewaretoken": csrf_token(right), "allow": ""}
    for changed in WRONG_REQUESTS:
        url = await desk.request(**changed)
        for refused in (await desk.http.get(url), await desk.http.post(url, data=form)):
            assert (refused.status_code, "location" in refused.headers) == (400, False), changed
            assert "The program gets no access" in refused.text and "<form" not in refused.text


async def test_the_consent_is_given_by_a_press_on_the_own_page_only(desk: Desk, site: str) -> None:
    url = await desk.request()
    page = await desk.http.get(url)
    token = csrf_token(page)
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert (await desk.http.post(url, data={"allow": ""})).status_code == 403
    crossing = await desk.http.post(
        url, data={"csrfmiddlewaretoken": token, "allow": ""}, headers={"origin": "https://evil.example"}
    )
    assert crossing.status_code == 403
    async with httpx2.AsyncClient(base_url=site) as nobody:
        asked = await nobody.get(url)
        assert asked.status_code == 302 and urlsplit(asked.headers["location"]).path == "/accounts/login/"


WRONG_ADDRESSES = [
    "http://evil.example/",
    "http://127.0.0.1.evil.example/",
    "http://localhost.evil.example/",
    "http://127.0.0.1@evil.example/",
    "https://user@good.example/",
    "https://good.example/#fragment",
    "https://good.example;sandbox/",
    "javascript:alert(1)",
    "data:text/html,a",
    "editor://callback",
    "/callback",
    "",
    f"https://good.example/{'a' * 500}",
]
WRONG_BODIES = [
    b"",
    b"[]",
    b'{"redirect_uris": []}',
    b'{"redirect_uris": "https://a.example"}',
    b"\xff",
    b"[" * 90_000,
]


async def test_hostile_registrations_are_refused(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    for address in WRONG_ADDRESSES:
        refused = await desk.register(redirect_uris=[RETURN, address])
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri"), address
    for body in WRONG_BODIES:
        refused = await desk.http.post("/mcp/register", content=body)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client_metadata"), body[:99]
    assert (await desk.http.post("/mcp/register", content=b" " * 100_001)).status_code == 413
    assert not [record for record in caplog.records if record.exc_info]


WRONG_EXCHANGES: list[tuple[dict[str, Any], str]] = [
    ({"client_id": "forged"}, "invalid_client"),
    ({"code": "forged"}, "invalid_grant"),
    ({"redirect_uri": EVIL}, "invalid_grant"),
    ({"redirect_uri": ""}, "invalid_grant"),
    ({"code_verifier": "w" * 64}, "invalid_grant"),
    ({"code_verifier": CHALLENGE}, "invalid_grant"),
    ({"code_verifier": b"\xed\xa0\xbd"}, "invalid_grant"),
    ({"resource": ""}, "invalid_target"),
    ({"resource": f"{EVIL}mcp"}, "invalid_target"),
    ({"grant_type": "refresh_token"}, "unsupported_grant_type"),
    ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
]


async def test_a_code_is_exchanged_by_nobody_else(desk: Desk) -> None:
    code = (await desk.press(await desk.request(), "allow"))["code"]
    for changed, error in WRONG_EXCHANGES:
        refused = await desk.exchange(**({"code": code} | changed))
        assert (refused.status_code, refused.json()["error"]) == (400, error), changed
    assert not await ApiKey.objects.aexists()
    assert (await desk.exchange(code=code)).status_code == 200


async def test_a_code_of_one_program_is_no_code_of_another(desk: Desk) -> None:
    code = (await desk.press(await desk.request(), "allow"))["code"]
    other = (await desk.register(client_name="Other")).json()["client_id"]
    assert (await desk.exchange(code=code, client_id=other)).json()["error"] == "invalid_grant"


async def test_a_code_counts_once_also_in_a_race_and_its_second_use_revokes_the_key(desk: Desk) -> None:
    code = (await desk.press(await desk.request(), "allow"))["code"]
    answers = await asyncio.gather(*(desk.exchange(code=code) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]
    [token] = [answer.json()["access_token"] for answer in answers if answer.status_code == 200]
    assert (await ApiKey.objects.aget()).revoked_at is not None
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    assert (await desk.http.post("/mcp", json={}, headers=headers)).status_code == 401


async def test_old_codes_and_codes_of_people_who_left_are_refused(
    person: User, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (await desk.press(await desk.request(), "allow"))["code"]
    with monkeypatch.context() as patched:
        patched.setattr(programs, "CODE_SECONDS", -1)
        assert (await desk.exchange(code=code)).json()["error"] == "invalid_grant"
    await User.objects.filter(pk=person.pk).aupdate(is_active=False)
    assert (await desk.exchange(code=code)).json()["error"] == "invalid_grant"
    assert not await ApiKey.objects.aexists()


async def test_the_metadata_is_for_hosts_of_the_site_and_names_them(desk: Desk) -> None:
    described = await desk.http.get("/.well-known/oauth-protected-resource/mcp")
    assert described.json()["resource"] == f"{desk.site}/mcp"
    for path in ("oauth-protected-resource/mcp", "oauth-authorization-server"):
        evil = await desk.http.get(f"/.well-known/{path}", headers={"host": "evil.example"})
        assert evil.status_code == 403
        assert (await desk.http.post(f"/.well-known/{path}")).status_code == 405
    for path in ("/mcp/register", "/mcp/token"):
        assert (await desk.http.get(path)).status_code == 405
        assert (await desk.http.post(path, headers={"origin": "https://evil.example"})).status_code == 403


async def test_the_sign_in_of_the_documentation_runs(desk: Desk, model: ScriptedModel) -> None:
    model.turns.append("It is on its way.")
    listening, _ = free_socket()
    port = listening.getsockname()[1]
    listening.close()
    [code] = re.findall(
        r"^```python\n(# mcp_sign_in_client\.py\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code.replace("help_desk", "desk").replace("3030", str(port)),
        env={**os.environ, "SITE": desk.site, "BROWSER": "true"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    opened = (await process.stdout.readline()).decode().removeprefix("Open ").strip()
    answer = await desk.press(opened, "allow")
    async with httpx2.AsyncClient() as http:
        assert (
            await http.get(f"http://127.0.0.1:{port}/?{urlencode(answer)}")
        ).text == "Go back to the program."
    assert (await process.stdout.read()).decode() == "It is on its way.\n"
    assert await process.wait() == 0
