"""Sign-in at an MCP server by OAuth: one click, tokens that are used, renewed and revoked, and hostile servers.

The service is an OAuth MCP server made of the parts of the `mcp` package, over HTTP (contract T8).
"""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from django.apps import apps as django_apps
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import AsyncClient
from django.urls import reverse
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from runtime.agents import LlmAgent
from runtime.auth import AuthConfig, AuthCredential, OAuth2Auth
from runtime.auth.auth_schemes import OAuth2, OAuthFlows, ProtectedResource
from runtime.tools import ToolContext
from runtime.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from runtime.tools.mcp_tool.sign_in import begin_sign_in
from runtime.tools.openapi_tool import OpenAPIToolset
from runtime.tools.openapi_tool.auth.sign_in import SignInError, set_oauth_clients
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.chat.sign_in_views import PENDING
from sessions_app.conf import Conf
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.invocations.worker import worker
from sessions_app.limits import quotas
from sessions_app.limits.rates import rates
from sessions_app.models import AnswerRequest, Event, SavedCredential, Session
from sessions_app.process.threads import in_thread
from sessions_app.store.credential_service import revoke_after_commit
from sessions_app.use_cases.sign_in import PendingSignIn
from tests.echo_server import EchoServer
from tests.fakes import ScriptedModel, call
from tests.forked_program import ForkServer
from tests.integration.locks import blocked, held
from tests.integration.management.terminal import site_environment
from tests.integration.otlp_collector import Collector
from tests.oauth_mcp_server import Service, oauth_mcp_server, with_json
from tests.served_agents import Served
from tests.unit.runtime.openapi.specs import spec_of

pytestmark = pytest.mark.usefixtures("loop_end")


@pytest.fixture
def service() -> Iterator[Service]:
    with oauth_mcp_server() as running:
        yield running


@pytest.fixture
def agent(served: Served, service: Service) -> ScriptedModel:
    """An agent that reads the person's notes, after a sign-in if it is offered."""
    model = ScriptedModel(rule=_next_turn)
    served(clerk(service.url, model))
    return model


def clerk(service_url: str, model: ScriptedModel) -> LlmAgent:
    params = StreamableHTTPConnectionParams(url=f"{service_url}/mcp", timeout=60.0)
    return LlmAgent(name="clerk", model=model, tools=[McpToolset(connection_params=params)])


@pytest.fixture
async def browser(person: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(person)
    return client


def _next_turn(request: Any) -> Any:
    last = request.contents[-1].parts[0]
    if last.function_response and last.function_response.name == "read_notes":
        return str(last.function_response.response)
    if "read_notes" in request.tools_dict:
        return call("read_notes")
    if last.function_response:
        return str(last.function_response.response)
    return call(next(iter(request.tools_dict)))


async def say(person: User, session: Session | None = None) -> tuple[Session, str]:
    """Send a message; return the session and the agent's last words."""
    session = session or await use_cases.create_session(person, "clerk")
    count = await Event.objects.filter(session=session).acount()
    await use_cases.send_message(actors.person(person), session.pk, f"m-{count}", "My notes?")
    await worker().wait_until_idle()
    return session, await last_words(session)


async def last_words(session: Session) -> str:
    await worker().wait_until_idle()
    return str((await Event.objects.filter(session=session).alatest("seq")).text)


async def asked(session: Session) -> AnswerRequest:
    return await AnswerRequest.objects.aget(session=session)


async def go_to_service(browser: AsyncClient, session: Session) -> str:
    """Press the button of the question; return the address to which the service sends the person back."""
    request = await asked(session)
    response = await browser.get(reverse("chat:sign_in", args=[request.call_id]))
    assert response.status_code == 302, response.content.decode()
    return await grant(response.headers["Location"])


async def grant(page: str) -> str:
    """Grant access on the page of the service; return the address to which it sends the person back."""
    async with httpx2.AsyncClient() as person_at_service:
        granted = await person_at_service.get(page)
    assert granted.status_code == 302, granted.text
    return granted.headers["Location"]


async def come_back(browser: AsyncClient, address: str) -> tuple[int, str]:
    """Open the callback page; return its status and text."""
    parts = urlsplit(address)
    response = await browser.get(f"{parts.path}?{parts.query}")
    assert response.headers["Referrer-Policy"] == "no-referrer"
    return response.status_code, response.content.decode()


async def sign_in(browser: AsyncClient, session: Session) -> None:
    status, _ = await come_back(browser, await go_to_service(browser, session))
    assert status == 200
    await worker().wait_until_idle()


def tables_with(secrets: list[str]) -> list[str]:
    """Return the tables of the app with one of the secrets in clear."""
    found = []
    for model in django_apps.get_app_config("sessions_app").get_models():
        table = model._meta.db_table
        with connection.cursor() as cursor:
            for secret in secrets:
                cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{secret}%"])
                found += [table] if cursor.fetchone()[0] else []
    return found


async def test_after_one_click_the_run_goes_on_and_later_chats_do_not_ask(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    collector: Collector,
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector.configure(otlp_content=True)
    caplog.set_level(logging.DEBUG, "sessions_app")
    caplog.set_level(logging.DEBUG, "runtime")
    session, _ = await say(person)
    page = (await browser.get(reverse("chat:session", args=[session.pk]))).content.decode()
    assert "Sign in at" in page
    assert service.calls == []
    address = await go_to_service(browser, session)
    query = parse_qs(urlsplit(address).query)
    status, text = await come_back(browser, address)
    assert (status, "The chat goes on by itself" in text) == (200, True)
    assert "Buy milk." in await last_words(session)
    _, words = await say(person)
    assert "Buy milk." in words
    assert len(service.clients) == 1
    secrets = [*service.tokens(), query["code"][0], query["state"][0]]
    assert await in_thread(tables_with, secrets) == []
    assert not any(secret in caplog.text for secret in secrets)
    spans = await collector.sent()
    assert "Buy milk." in spans
    assert not any(secret in spans for secret in secrets)


async def test_the_process_is_killed_between_the_click_and_the_way_back(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient, tmp_path: Path
) -> None:
    session, _ = await say(person)
    log = tmp_path / "log"
    login = browser.cookies["sessionid"].value
    environment = site_environment(ALLOWED_HOSTS="testserver")
    with ForkServer(environment, "adk_site.urls", "sessions_app.tasks", "tests.fakes") as programs:
        program = programs.run_with_log(
            "tests.integration.chat.sign_in_clicker",
            service.url,
            login,
            (await asked(session)).call_id,
            environment=environment,
            log=log,
        )
        while not log.exists() or "state=" not in log.read_text():
            assert program.poll() is None, log.read_text()
            await asyncio.sleep(0.01)
        program.kill()
        assert program.wait() == -signal.SIGKILL
    [page] = re.findall("^http.*state=.*$", log.read_text(), re.MULTILINE)
    address = await grant(page)
    assert (await come_back(browser, address))[0] == 200
    assert "Buy milk." in await last_words(session)


async def test_an_expired_token_is_renewed_once_by_processes_at_the_same_moment(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    service.lifetime = 0
    session, _ = await say(person)
    await sign_in(browser, session)
    service.lifetime = 3600
    service.refreshed = 0
    both = await asyncio.gather(say(person), say(person))
    assert ["Buy milk." in words for _, words in both] == [True, True]
    assert service.refreshed == 1
    service.access = {}  # The service may end an access token at any time.
    _, words = await say(person)
    assert ("Buy milk." in words, service.refreshed) == (True, 2)


async def test_a_token_that_the_service_has_revoked_is_dropped_and_the_person_asked(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    session, _ = await say(person)
    await sign_in(browser, session)
    service.end_tokens()
    session, _ = await say(person)
    assert await asked(session)
    assert not await SavedCredential.objects.aexists()
    await sign_in(browser, session)
    assert "Buy milk." in await last_words(session)


async def test_a_token_that_ends_between_list_and_call_is_asked_for_by_the_call(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    session, _ = await say(person)
    await sign_in(browser, session)

    def end_before_call(request: Any) -> Any:
        turn = _next_turn(request)
        if "read_notes" in request.tools_dict and not service.calls:
            service.end_tokens()
        return turn

    service.calls.clear()
    agent.rule = end_before_call
    session, _ = await say(person)
    assert (await asked(session)).tool_name == "adk_request_credential"
    await sign_in(browser, session)
    assert ("Buy milk." in await last_words(session), service.calls) == (True, ["read_notes"])


async def test_another_process_renews_a_token_that_it_has_not_used_before(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient, served: Served
) -> None:
    session, _ = await say(person)
    await sign_in(browser, session)
    service.access = {}
    served(clerk(service.url, agent))
    _, words = await say(person)
    assert ("Buy milk." in words, service.refreshed) == (True, 1)


async def test_the_person_ends_a_sign_in_in_the_settings(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    session, _ = await say(person)
    await sign_in(browser, session)
    kept = await SavedCredential.objects.aget()
    page = (await browser.get(reverse("chat:settings"))).content.decode()
    assert urlsplit(service.url).netloc in page
    await browser.post(reverse("chat:forget_sign_in", args=[kept.pk]))
    assert service.tokens() == [], "revoked at the service"
    assert not await SavedCredential.objects.aexists()


async def test_a_state_is_of_one_person_and_used_once(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    session, _ = await say(person)
    address = await go_to_service(browser, session)
    other = AsyncClient()
    await other.aforce_login(await User.objects.acreate_user("eve"))
    foreign = await come_back(other, address)
    assert (foreign[0], service.access) == (400, {})
    forged = await come_back(browser, address.replace("state=", "state=x"))
    assert (forged[0], service.access) == (400, {})
    away = await browser.get("/sign-in/callback/?state=x&next=https://evil.example")
    assert (away.status_code, "evil" in away.content.decode()) == (400, False)
    assert (await come_back(browser, address))[0] == 200
    assert (await come_back(browser, address))[0] == 400, "a second use of the address"
    assert "Buy milk." in await last_words(session)
    request = await browser.get(reverse("chat:sign_in", args=["adk-unknown"]))
    assert request.status_code == 404


async def test_an_address_opened_twice_at_once_exchanges_its_code_once(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    session, _ = await say(person)
    address = await go_to_service(browser, session)
    async with held("SELECT FROM django_session FOR UPDATE"):
        opened = [asyncio.create_task(come_back(browser, address)) for _ in range(2)]
        await blocked(2)
    assert sorted([(await page)[0] for page in opened]) == [200, 400]
    assert service.requests.count("/token") == 1
    assert "Buy milk." in await last_words(session)


@pytest.mark.parametrize("bound", ["person", "session", "call"])
async def test_a_sign_in_helps_no_other_person_session_or_call(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient, bound: str
) -> None:
    """Also for somebody who can write into the logins, which hold what is pending."""
    session, _ = await say(person)
    other, _ = await say(person)
    address = await go_to_service(browser, session)
    login = await browser.asession()
    [(digest, pending)] = (await login.aget(PENDING, {})).items()
    answers_to = PendingSignIn(*pending)
    if bound == "person":
        browser = AsyncClient()
        await browser.aforce_login(await User.objects.acreate_user("eve"))
        login = await browser.asession()
    elif bound == "session":
        answers_to = answers_to._replace(session_id=str(other.pk))
    else:
        answers_to = answers_to._replace(call_id=(await asked(other)).call_id)
    await login.aset(PENDING, {digest: answers_to})
    await login.asave()
    status, _ = await come_back(browser, address)
    assert (status, service.access) == (404, {})
    assert await asked(session) and await asked(other)


async def test_nobody_begins_the_sign_in_of_another_person_or_from_another_site(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    session, _ = await say(person)
    page = reverse("chat:sign_in", args=[(await asked(session)).call_id])
    other = AsyncClient()
    await other.aforce_login(await User.objects.acreate_user("eve"))
    assert (await other.get(page)).status_code == 404
    assert (await browser.get(page, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403
    assert service.clients == {}


@pytest.mark.parametrize("address", ["https://[bad", "javascript:alert(1)"])
async def test_a_page_without_an_address_that_can_be_opened_is_refused_in_words(
    person: User, browser: AsyncClient, served: Served, address: str
) -> None:
    def look_up(tool_context: ToolContext) -> str:
        """Look up an order."""
        client = OAuth2Auth(client_id="notes", client_secret=SECRET_OF_SITE, auth_uri=address)
        credential = AuthCredential(auth_type="oauth2", oauth2=client)
        scheme = OAuth2(flows=OAuthFlows())
        tool_context.request_credential(AuthConfig(auth_scheme=scheme, raw_auth_credential=credential))
        return "asked"

    served(LlmAgent(name="clerk", model=ScriptedModel(turns=[call("look_up")]), tools=[look_up]))
    session, _ = await say(person)
    response = await browser.get(reverse("chat:sign_in", args=[(await asked(session)).call_id]))
    assert response.status_code == 400
    assert "no address that can be opened" in response.content.decode()


async def test_a_person_begins_a_limited_number_of_sign_ins(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, _ = await say(person)
    page = reverse("chat:sign_in", args=[(await asked(session)).call_id])
    monkeypatch.setattr(quotas, "MAX_BEGUN_SIGN_INS", 1)
    rates.cache_clear()
    assert (await browser.get(page)).status_code == 302
    known = len(service.clients)
    assert (await browser.get(page)).status_code == 429
    assert len(service.clients) == known


async def test_a_sign_in_that_has_taken_too_long_is_not_used(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, _ = await say(person)
    address = await go_to_service(browser, session)
    monkeypatch.setattr("sessions_app.use_cases.sign_in.LONGEST_SIGN_IN", timedelta(seconds=-1))
    status, text = await come_back(browser, address)
    assert (status, "taken too long" in text) == (404, True)
    assert service.access == {}


@pytest.mark.parametrize(
    ("parameter", "value"), [("iss", "http://127.0.0.1:1"), ("error", "access_denied"), ("code", "forged")]
)
async def test_an_answer_of_another_service_or_without_consent_is_not_used(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    parameter: str,
    value: str,
) -> None:
    session, _ = await say(person)
    parts = urlsplit(await go_to_service(browser, session))
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | {parameter: value}
    if parameter == "error":
        del query["code"]
    response = await browser.get(parts.path, query)
    assert (response.status_code, service.access) == (400, {})
    assert value not in response.content.decode()
    assert not await SavedCredential.objects.aexists()
    await sign_in(browser, session)
    assert "Buy milk." in await last_words(session)


async def test_a_service_that_promises_its_name_must_send_it(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient
) -> None:
    metadata = httpx2.get(f"{service.url}/.well-known/oauth-authorization-server").json()
    metadata["authorization_response_iss_parameter_supported"] = True
    service.hostile["/.well-known/oauth-authorization-server"] = with_json(metadata)
    service.sends_issuer = False
    session, _ = await say(person)
    status, _ = await come_back(browser, await go_to_service(browser, session))
    assert (status, service.access) == (400, {})


SECRET_OF_SITE = "s3cr3t-of-the-site"


@pytest.fixture
def client_of_site(service: Service, request: pytest.FixtureRequest) -> Iterator[OAuthClientInformationFull]:
    """The site's own client of a service that registers none; a parameter is the place of its secret."""
    metadata = httpx2.get(f"{service.url}{SERVER}").json()
    service.hostile[SERVER] = with_json({**metadata, "registration_endpoint": None})
    service.hostile["/register"] = lambda _: Response(status_code=404)
    client = OAuthClientInformationFull(
        client_id="site",
        client_secret=SECRET_OF_SITE,
        redirect_uris=[AnyUrl("http://testserver/sign-in/callback/")],
        token_endpoint_auth_method=getattr(request, "param", "client_secret_post"),
        scope="notes",
    )
    service.clients = {client.client_id: client}
    yield client
    set_oauth_clients({})


async def test_the_sites_own_client_signs_in_renews_and_revokes_with_its_secret(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    client_of_site: OAuthClientInformationFull,
) -> None:
    client = OAuth2Auth(client_id="site", client_secret=client_of_site.client_secret)
    set_oauth_clients(Conf(oauth_clients={service.url: client}).oauth_clients)
    service.lifetime = 0
    session, _ = await say(person)
    await sign_in(browser, session)
    assert "Buy milk." in await last_words(session)
    service.lifetime = 3600
    service.refreshed = 0
    _, words = await say(person)
    assert ("Buy milk." in words, service.refreshed) == (True, 1)
    assert SECRET_OF_SITE not in str([event.body async for event in Event.objects.all()])
    kept = await SavedCredential.objects.aget()
    await browser.post(reverse("chat:forget_sign_in", args=[kept.pk]))
    assert service.tokens() == []
    assert list(service.clients) == ["site"]


@pytest.mark.parametrize("client_of_site", ["client_secret_basic", "client_secret_post"], indirect=True)
async def test_an_operation_of_a_web_service_renews_its_token_in_a_later_chat(
    person: User,
    service: Service,
    browser: AsyncClient,
    served: Served,
    client_of_site: OAuthClientInformationFull,
) -> None:
    def things(request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return JSONResponse({"notes": "Buy milk."}, status_code=200 if token in service.access else 401)

    service.hostile["/things"] = things
    addresses = {"authorizationUrl": f"{service.url}/authorize", "tokenUrl": f"{service.url}/token"}
    flow = {**addresses, "scopes": {"notes": ""}}
    scheme = {"type": "oauth2", "flows": {"authorizationCode": flow}}
    spec = spec_of(service.url, "/things", components={"securitySchemes": {"main": scheme}})
    client = OAuth2Auth(
        client_id="site",
        client_secret=client_of_site.client_secret,
        token_endpoint_auth_method=client_of_site.token_endpoint_auth_method,
    )
    toolset = OpenAPIToolset(
        spec_dict={**spec, "security": [{"main": []}]},
        auth_credential=AuthCredential(auth_type="oauth2", oauth2=client),
        allow_private_network_access=True,
    )
    served(LlmAgent(name="clerk", model=ScriptedModel(rule=_next_turn), tools=[toolset]))
    service.lifetime = 0
    session, _ = await say(person)
    await sign_in(browser, session)
    assert "Buy milk." in await last_words(session)
    service.lifetime = 3600
    later, words = await say(person)
    assert ("Buy milk." in words, service.refreshed) == (True, 1)
    assert not await AnswerRequest.objects.filter(session=later).aexists()
    _, words = await say(person)
    assert ("Buy milk." in words, service.refreshed) == (True, 1)


RESOURCE = "/.well-known/oauth-protected-resource/mcp"
SERVER = "/.well-known/oauth-authorization-server"


def refusal(challenge: str) -> Response:
    return Response(status_code=401, headers={"WWW-Authenticate": f"Bearer {challenge}"})


def hostile_metadata(url: str) -> dict[str, tuple[str, Any]]:
    """Return the path, and the JSON or the answer, of each attack."""
    resource = {"resource": f"{url}/mcp", "authorization_servers": [url]}
    server = {
        "issuer": url,
        "authorization_endpoint": f"{url}/authorize",
        "token_endpoint": f"{url}/token",
        "registration_endpoint": f"{url}/register",
        "code_challenge_methods_supported": ["S256"],
    }
    inside = "https://169.254.169.254/latest/meta-data"
    port = urlsplit(url).port
    return {
        "another issuer": (SERVER, {**server, "issuer": "https://accounts.example.com"}),
        "another resource": (RESOURCE, {**resource, "resource": "https://bank.example.com/"}),
        "issuer in the site's network": (RESOURCE, {**resource, "authorization_servers": [inside]}),
        "issuer on this machine": (
            RESOURCE,
            {**resource, "authorization_servers": [f"https://localhost:{port}"]},
        ),
        "issuer without encryption": (
            RESOURCE,
            {**resource, "authorization_servers": [f"http://localhost:{port}"]},
        ),
        "registration inside": (SERVER, {**server, "registration_endpoint": inside}),
        "token without encryption": (SERVER, {**server, "token_endpoint": "http://example.com/token"}),
        "revocation without encryption": (
            SERVER,
            {**server, "revocation_endpoint": "http://example.com/revoke"},
        ),
        "no PKCE": (SERVER, {**server, "code_challenge_methods_supported": ["plain"]}),
        "a script": (SERVER, {**server, "authorization_endpoint": "javascript:alert(1)"}),
        "huge": (SERVER, {**server, "service_documentation": f"https://example.com/{'x' * 200_000}"}),
        "metadata inside": ("/mcp", refusal('resource_metadata="https://169.254.169.254/meta"')),
        "no registration": (SERVER, {**server, "registration_endpoint": None}),
    }


INSIDE = {
    "issuer in the site's network",
    "issuer on this machine",
    "registration inside",
    "metadata inside",
}
"""Attacks that only the guard of addresses stops."""


@pytest.mark.parametrize("attack", list(hostile_metadata("http://127.0.0.1:1")))
async def test_hostile_metadata_lead_nowhere(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    caplog: pytest.LogCaptureFixture,
    attack: str,
) -> None:
    path, content = hostile_metadata(service.url)[attack]
    service.hostile[path] = lambda _: content if isinstance(content, Response) else JSONResponse(content)
    session, _ = await say(person)
    page = await browser.get(reverse("chat:sign_in", args=[(await asked(session)).call_id]))
    assert page.status_code == 400
    assert not {"Location"} & set(page.headers)
    text = page.content.decode()
    assert "169.254" not in text and "Traceback" not in text
    is_kept_out = "is in an internal network" in caplog.text
    assert is_kept_out == (attack in INSIDE)
    assert service.clients == {}


async def test_a_request_for_an_address_that_no_agent_offers_reaches_nothing() -> None:
    with EchoServer() as inside:
        offered = StreamableHTTPConnectionParams(url=f"{inside.url}/mcp")
        McpToolset(connection_params=offered)
        for resource, key in ((inside.url, ""), (offered.url, "of another tool")):
            scheme = ProtectedResource(resource=resource)
            config = AuthConfig(auth_scheme=scheme, credential_key=key)
            with pytest.raises(SignInError, match="No agent offers this service"):
                await begin_sign_in(config, "https://site.example/back", "Agents")
    assert inside.received == []


@pytest.mark.parametrize("answers", [True, False])
async def test_erasing_the_person_leaves_no_token_here_and_at_the_service(
    person: User, service: Service, agent: ScriptedModel, browser: AsyncClient, answers: bool
) -> None:
    session, _ = await say(person)
    await sign_in(browser, session)
    assert service.tokens()
    if not answers:
        service.hostile["/revoke"] = lambda _: Response(status_code=503)
    tombstone = await in_thread(erase_user, person.pk, ErasureOrder(reason="Asked for"))
    assert (service.requests[-1], service.tokens() == []) == ("/revoke", answers)
    assert tombstone.finished_at and tombstone.counts["credentials"] == 1
    assert not await SavedCredential.objects.aexists()


async def test_an_erasure_revokes_the_token_of_a_renewal_under_way(
    person: User,
    service: Service,
    agent: ScriptedModel,
    browser: AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service.lifetime = 0
    session, _ = await say(person)
    await sign_in(browser, session)
    service.lifetime = 3600
    is_renewing = threading.Event()
    has_to_wait = threading.Event()
    exchange = service.exchange_refresh_token

    async def exchange_later(*args: Any) -> Any:
        is_renewing.set()
        await asyncio.to_thread(has_to_wait.wait)
        return await exchange(*args)

    monkeypatch.setattr(service, "exchange_refresh_token", exchange_later)
    asking = asyncio.create_task(say(person))
    await asyncio.to_thread(is_renewing.wait)
    erasing = asyncio.create_task(in_thread(delete_credentials, person))
    while not (erasing.done() or await in_thread(_waits_for_a_lock)):
        await asyncio.sleep(0.01)
    has_to_wait.set()
    await erasing
    await asking
    assert service.tokens() == []


def delete_credentials(person: User) -> None:
    with transaction.atomic():
        revoke_after_commit(person.pk)
        SavedCredential.objects.filter(user=person).delete()


def _waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return cursor.fetchone() is not None
