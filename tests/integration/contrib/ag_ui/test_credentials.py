"""Contract: a request for a credential is an interrupt. The tool gets the credential; no event or message has it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime.auth import AuthConfig
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes, HttpAuth, OAuth2Auth
from runtime.auth.auth_schemes import APIKey, ApiKeyLocation, HTTPBase, OAuth2, OAuthFlows
from runtime.tools import ToolContext
from sessions_app.models import Event, Invocation
from tests.ag_ui_page import Page
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.ag_ui.conftest import APP, http_client, run_input

SECRET = "s3cr3t-key-of-ada"
SECRET_OF_SITE = "s3cr3t-of-the-site"
CONFIGS = {
    "key": AuthConfig(auth_scheme=APIKey(in_=ApiKeyLocation.HEADER, name="X-Key")),
    "token": AuthConfig(auth_scheme=HTTPBase(scheme="bearer")),
    "sign-in": AuthConfig(
        auth_scheme=OAuth2(flows=OAuthFlows()),
        raw_auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.OAUTH2,
            oauth2=OAuth2Auth(
                client_id="notes", client_secret=SECRET_OF_SITE, auth_uri="https://accounts.example/"
            ),
        ),
    ),
}


@pytest.fixture
def given() -> list[AuthCredential]:
    """Credentials that the tool has got."""
    return []


@pytest.fixture
def tools(given: list[AuthCredential]) -> list[Any]:
    def read_notes(kind: str, tool_context: ToolContext) -> dict[str, Any] | None:
        """Read the person's notes."""
        credential = tool_context.get_auth_response(CONFIGS[kind])
        if credential is None:
            tool_context.request_credential(CONFIGS[kind])
            return None
        given.append(credential)
        return {"notes": "Buy milk."}

    return [read_notes]


async def ask(page: Page, model: ScriptedModel, kind: str) -> dict[str, Any]:
    """Let the agent ask for a credential; return the interrupt."""
    model.turns += [call("read_notes", kind=kind), "Milk."]
    asked = await page.run("My notes?")
    assert SECRET_OF_SITE not in str(asked)
    [interrupt] = asked["interrupts"]
    made = [call for message in asked["messages"] for call in message.get("toolCalls", ())]
    assert interrupt["reason"] == "credential_required"
    assert (interrupt["toolCallId"], asked["outcome"]["type"]) == (made[-1]["id"], "interrupt")
    found: dict[str, Any] = interrupt
    return found


def entry_of(interrupt: dict[str, Any], payload: Any = None, status: str = "resolved") -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": status, "payload": payload}


async def status_of(site: str, key: str, page: Page, entry: dict[str, Any]) -> int:
    async with http_client(site, key) as client:
        body = {**run_input(resume=[entry]), "threadId": page.thread_id}
        return (await client.post(f"/ag-ui/{APP}", json=body)).status_code


async def test_a_credential_reaches_the_tool_and_nothing_else_also_when_the_connection_breaks(
    page: Page, model: ScriptedModel, given: list[AuthCredential]
) -> None:
    interrupt = await ask(page, model, "key")
    assert interrupt["responseSchema"] == {
        "type": "object",
        "properties": {"authType": {"const": "apiKey"}, "apiKey": {"type": "string", "title": "Key (X-Key)"}},
        "required": ["authType", "apiKey"],
    }
    ended = await page.run(
        resume=[entry_of(interrupt, {"authType": "apiKey", "apiKey": SECRET})], cuts=[200, 300]
    )
    assert (ended["error"], ended["interrupts"]) == (None, []) and ended["requests"] > 1
    assert ended["messages"][-1]["content"] == "Milk."
    assert [credential.api_key for credential in given] == [SECRET]
    assert SECRET not in str(ended)
    assert SECRET not in str([event.body async for event in Event.objects.all()])
    assert SECRET not in str([row.message async for row in Invocation.objects.all()])


async def test_parts_of_a_credential_are_objects_of_its_schema(
    page: Page, model: ScriptedModel, given: list[AuthCredential]
) -> None:
    interrupt = await ask(page, model, "token")
    http = interrupt["responseSchema"]["properties"]["http"]
    assert http["properties"]["scheme"] == {"const": "bearer"}
    assert list(http["properties"]["credentials"]["properties"]) == ["token"]
    token = {"authType": "http", "http": {"scheme": "bearer", "credentials": {"token": SECRET}}}
    await page.run(resume=[entry_of(interrupt, token)])
    assert isinstance(given[0].http, HttpAuth) and given[0].http.credentials.token == SECRET


async def test_the_person_signs_in_at_the_site_and_the_page_goes_on(
    page: Page, model: ScriptedModel, given: list[AuthCredential], person: User, site: str, key: str
) -> None:
    interrupt = await ask(page, model, "sign-in")
    assert "responseSchema" not in interrupt
    assert await status_of(site, key, page, entry_of(interrupt)) == 400
    browser = AsyncClient()
    stranger = AsyncClient()
    await browser.aforce_login(person)
    await stranger.aforce_login(await User.objects.acreate_user("eve"))
    address = interrupt["metadata"]["signIn"]
    assert (await stranger.get(address)).status_code == 404
    service = parse_qs(urlsplit((await browser.get(address)).headers["Location"]).query)
    await browser.get("/sign-in/callback/", {"state": service["state"][0], "code": SECRET})
    ended = await page.run(resume=[entry_of(interrupt)])
    assert (ended["error"], ended["messages"][-1]["content"]) == (None, "Milk.")
    assert given[0].oauth2 is not None and given[0].oauth2.auth_code == SECRET
    opened_again = await page.run()
    for shown in (ended, opened_again):
        assert SECRET not in str(shown) and SECRET_OF_SITE not in str(shown)


async def test_a_credential_that_is_none_is_refused_and_a_cancelled_request_is_none(
    page: Page, model: ScriptedModel, given: list[AuthCredential], site: str, key: str
) -> None:
    interrupt = await ask(page, model, "key")
    for payload in (None, {}, "k", [SECRET], {"apiKey": {"a": 1}}, {"authType": "none"}, {"response": "{"}):
        assert await status_of(site, key, page, entry_of(interrupt, payload)) == 400, payload
    again = await page.run(resume=[entry_of(interrupt, status="cancelled")])
    # The tool has run without a credential, and asks anew.
    assert again["error"] is None and again["interrupts"][0]["id"] != interrupt["id"]
    assert given == []
