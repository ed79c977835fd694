"""Contract T8, T11: credentials of the author and of the person, at the place that the security scheme names."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth
from runtime.auth.auth_credential import HttpAuth, HttpCredentials
from runtime.auth.auth_schemes import OpenIdConnect
from runtime.errors import ConfigurationError
from runtime.tools.authenticated_function_tool import AuthenticatedFunctionTool
from runtime.tools.openapi_tool import OpenAPIToolset
from runtime.tools.openapi_tool.auth.auth_helpers import (
    openid_dict_to_scheme_credential,
    token_to_scheme_credential,
)
from tests.echo_server import EchoServer, Received, Reply
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.confirmation.chat import Chat, answers, requests, response
from tests.unit.runtime.openapi.specs import Json, spec_of, tool_of

SECRET = "s3cr3t"


def with_scheme(url: str, scheme: Json) -> Json:
    spec = spec_of(url, components={"securitySchemes": {"main": scheme}})
    return {**spec, "security": [{"main": []}]}


def oauth_scheme(url: str) -> Json:
    flow = {
        "authorizationUrl": f"{url}/consent",
        "tokenUrl": f"{url}/token",
        "scopes": {"read": "Read"},
        "x-own": 1,
    }
    return {"type": "oauth2", "flows": {"authorizationCode": flow}, "x-mark": True}


def client(**fields: Any) -> AuthCredential:
    oauth2 = OAuth2Auth(client_id="shop", client_secret=SECRET, redirect_uri="https://shop/back", **fields)
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2)


def http(scheme: str, **fields: str) -> AuthCredential:
    credentials = HttpCredentials(**fields)
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme=scheme, credentials=credentials)
    )


def issue(token: str) -> Any:
    return lambda _: Reply(body=json.dumps({"access_token": token, "token_type": "bearer"}).encode())


def form_of(got: Received) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(got.body.decode()).items()}


def filled(asked: types.FunctionCall, given: AuthCredential) -> types.Part:
    """Return the answer of a person who gives a credential."""
    config = AuthConfig.model_validate((asked.args or {})["authConfig"])
    config = config.model_copy(update={"exchanged_auth_credential": given})
    answer = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return response("adk_request_credential", asked.id, answer)


def toolset_with_sign_in(server: EchoServer) -> OpenAPIToolset:
    """Return the tools of the server, which want a sign-in by OAuth."""
    return OpenAPIToolset(
        spec_dict=with_scheme(server.url, oauth_scheme(server.url)),
        auth_credential=client(),
        allow_private_network_access=True,
    )


async def ask_twice(toolset: OpenAPIToolset) -> tuple[Chat, list[types.FunctionCall], list[Any]]:
    """Have a model call the tool twice in one step; return the requests for a credential and all events."""
    calls = [call("do_it", "c1"), call("do_it", "c2")]
    chat = await Chat.with_agent(
        LlmAgent(name="clerk", model=ScriptedModel(turns=[calls, "Done."]), tools=[toolset])
    )
    events = await chat.send("go")
    return chat, requests(events, "adk_request_credential"), events


@pytest.mark.parametrize("location", ["header", "query", "cookie"])
async def test_t11_an_api_key_is_sent_at_the_place_of_its_scheme_and_not_logged(
    server: EchoServer, location: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    scheme, credential = token_to_scheme_credential("apikey", location, "X-Key", SECRET)
    tool = tool_of(spec_of(server.url), auth_scheme=scheme, auth_credential=credential)
    await tool.run_async(args={}, tool_context=None)
    got = server.last
    found = {"header": got.headers.get("x-key"), "query": dict(got.query).get("X-Key")}
    found["cookie"] = got.headers.get("cookie", "").removeprefix("X-Key=")
    assert {place: value for place, value in found.items() if value} == {location: SECRET}
    assert "/things" in caplog.text and SECRET not in caplog.text


@pytest.mark.parametrize(
    ("scheme", "credential", "header"),
    [
        ({"type": "http", "scheme": "bearer"}, http("bearer", token=SECRET), f"Bearer {SECRET}"),
        (
            {"type": "http", "scheme": "basic"},
            http("basic", username="ada", password=SECRET),
            "Basic " + base64.b64encode(f"ada:{SECRET}".encode()).decode(),
        ),
        ({"type": "http", "scheme": "digest"}, http("Token", token=SECRET), f"Token {SECRET}"),
        (
            {"type": "openIdConnect", "openIdConnectUrl": "https://id.example.com"},
            AuthCredential(auth_type="openIdConnect", oauth2=OAuth2Auth(access_token=SECRET)),
            f"Bearer {SECRET}",
        ),
    ],
)
async def test_t11_a_credential_becomes_an_authorization_header(
    server: EchoServer, scheme: Json, credential: AuthCredential, header: str
) -> None:
    tool = tool_of(with_scheme(server.url, scheme), auth_credential=credential)
    await tool.run_async(args={}, tool_context=None)
    assert server.last.headers["authorization"] == header


async def test_t11_security_of_an_operation_overrides_that_of_the_document(server: EchoServer) -> None:
    spec = with_scheme(server.url, {"type": "http", "scheme": "bearer"})
    assert tool_of(spec).auth_scheme is not None
    optional: list[list[Json]] = [[], [{}], [{"main": []}, {}]]
    for own in optional:
        spec["paths"]["/things"]["get"]["security"] = own
        assert tool_of(spec).auth_scheme is None


async def test_t8_the_person_is_asked_and_both_calls_of_the_step_run_with_the_key(server: EchoServer) -> None:
    spec = with_scheme(server.url, {"type": "apiKey", "in": "header", "name": "X-Key"})
    toolset = OpenAPIToolset(spec_dict=spec, allow_private_network_access=True)
    chat, asked, events = await ask_twice(toolset)
    assert [given and given["status"] for _, given in answers(events)] == ["pending", "pending"]
    assert server.received == []
    given = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET)
    await chat.send(*(filled(item, given) for item in asked))
    assert [got.headers["x-key"] for got in server.received] == [SECRET, SECRET]
    assert SECRET not in await chat.log_text()


async def test_t8_a_code_is_exchanged_once_for_a_token_which_is_stored_nowhere(server: EchoServer) -> None:
    server.routes["/token"] = issue("t0ken")
    toolset = toolset_with_sign_in(server)
    chat, asked, _ = await ask_twice(toolset)
    raw = (asked[0].args or {})["authConfig"]["rawAuthCredential"]["oauth2"]
    consent = urlsplit(raw["authUri"])
    assert (consent.path, parse_qs(consent.query)) == (
        "/consent",
        {
            "response_type": ["code"],
            "client_id": ["shop"],
            "redirect_uri": ["https://shop/back"],
            "scope": ["read"],
        },
    )
    back = AuthCredential(
        auth_type="oauth2", oauth2=OAuth2Auth(auth_response_uri="https://shop/back?code=gr4nt&state=x")
    )
    await chat.send(*(filled(item, back) for item in asked))
    exchange, *calls = server.received
    assert form_of(exchange) == {
        "grant_type": "authorization_code",
        "code": "gr4nt",
        "redirect_uri": "https://shop/back",
        "client_id": "shop",
        "client_secret": SECRET,
    }
    assert [(got.path, got.headers["authorization"]) for got in calls] == [("/things", "Bearer t0ken")] * 2
    log = await chat.log_text()
    assert not any(secret in log for secret in ("t0ken", "gr4nt", SECRET))


async def test_t8_the_person_is_asked_again_after_an_address_that_cannot_be_read(server: EchoServer) -> None:
    toolset = toolset_with_sign_in(server)
    chat, asked, _ = await ask_twice(toolset)
    back = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(auth_response_uri="https://[?code=gr4nt"))
    events = await chat.send(filled(asked[0], back))
    assert requests(events, "adk_request_credential") and server.received == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(400, b'{"error": "invalid_grant"}'), "answered with status 400"),
        (Reply(body=b"[" * 100_000), "answer is not a JSON object"),
    ],
)
async def test_t8_a_code_that_is_refused_is_an_error_for_the_model(
    server: EchoServer, reply: Reply, words: str
) -> None:
    server.routes["/token"] = lambda _: reply
    toolset = toolset_with_sign_in(server)
    chat, asked, _ = await ask_twice(toolset)
    back = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(auth_code="gr4nt"))
    events = await chat.send(filled(asked[0], back))
    [(_, given)] = [item for item in answers(events) if item[0] == "c1"]
    assert given is not None and words in given["error"]
    assert "gr4nt" not in await chat.log_text()


async def test_t8_a_key_that_the_service_refuses_is_asked_for_again(server: EchoServer) -> None:
    server.routes["/things"] = lambda _: Reply(401, b"no")
    spec = with_scheme(server.url, {"type": "apiKey", "in": "header", "name": "X-Key"})
    toolset = OpenAPIToolset(spec_dict=spec, allow_private_network_access=True)
    model = ScriptedModel(turns=[call("do_it", "c1"), call("do_it", "c2")])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[toolset]))
    [asked] = requests(await chat.send("go"), "adk_request_credential")
    given = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="wrong")
    events = await chat.send(filled(asked, given))
    assert [call_id for call_id, _ in answers(events)] == ["c1", "c2"]
    assert len(requests(events, "adk_request_credential")) == 1


async def test_t11_a_client_gets_its_own_token_without_a_person(server: EchoServer) -> None:
    server.routes["/token"] = issue("t0ken")
    flow = {"tokenUrl": f"{server.url}/token", "scopes": {"a": "", "b": ""}}
    toolset = OpenAPIToolset(
        spec_dict=with_scheme(server.url, {"type": "oauth2", "flows": {"clientCredentials": flow}}),
        auth_credential=client(),
        allow_private_network_access=True,
    )
    _, asked, _ = await ask_twice(toolset)
    assert asked == []
    assert [got.path for got in server.received] == ["/token", "/things", "/things"]
    assert form_of(server.received[0])["grant_type"] == "client_credentials"
    assert form_of(server.received[0])["scope"] == "a b"
    assert server.last.headers["authorization"] == "Bearer t0ken"


async def test_t8_the_page_gets_the_hash_of_the_verifier_and_the_exchange_the_verifier(
    server: EchoServer,
) -> None:
    server.routes["/token"] = issue("t0ken")
    credential = client()
    assert credential.oauth2
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # of RFC 7636, appendix B
    more = {"code_verifier": verifier, "code_challenge_method": "S256", "prompt": "consent", "nonce": "n"}
    more["token_endpoint_auth_method"] = "client_secret_basic"
    toolset = OpenAPIToolset(
        spec_dict=with_scheme(server.url, oauth_scheme(server.url)),
        auth_credential=AuthCredential(
            auth_type="oauth2",
            oauth2=OAuth2Auth(**{**credential.oauth2.model_dump(exclude_none=True), **more}),
        ),
        allow_private_network_access=True,
    )
    chat, asked, _ = await ask_twice(toolset)
    raw = (asked[0].args or {})["authConfig"]["rawAuthCredential"]["oauth2"]
    page = parse_qs(urlsplit(raw["authUri"]).query)
    assert page["code_challenge"] == ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"]
    assert (page["code_challenge_method"], page["prompt"], page["nonce"]) == (["S256"], ["consent"], ["n"])
    back = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(auth_code="gr4nt"))
    await chat.send(*(filled(item, back) for item in asked))
    form = form_of(server.received[0])
    assert form["code_verifier"] == verifier and "client_secret" not in form
    pair = base64.b64encode(f"shop:{SECRET}".encode()).decode()
    assert server.received[0].headers["authorization"] == f"Basic {pair}"
    assert verifier not in await chat.log_text()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"code_challenge_method": "plain", "code_verifier": "v"}, "use 'S256'"),
        ({"code_challenge_method": "S256"}, "needs a code_verifier"),
    ],
)
def test_a_challenge_that_cannot_be_made_is_refused(fields: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OAuth2Auth(**fields)


async def test_t11_further_headers_are_sent_with_the_credential(server: EchoServer) -> None:
    credential = http("bearer", token=SECRET)
    assert credential.http
    credential.http.additional_headers = {"X-Tenant": "shop"}
    scheme = {"type": "http", "scheme": "bearer"}
    tool = tool_of(with_scheme(server.url, scheme), auth_credential=credential)
    await tool.run_async(args={}, tool_context=None)
    assert (server.last.headers["x-tenant"], server.last.headers["authorization"]) == (
        "shop",
        f"Bearer {SECRET}",
    )


@pytest.mark.parametrize("page", [5, "https://["])
async def test_t8_endpoints_that_are_no_addresses_are_none(server: EchoServer, page: Any) -> None:
    found = {"authorization_endpoint": page, "token_endpoint": ["x"], "issuer": {}}
    server.routes["/openid"] = lambda _: Reply(body=json.dumps(found).encode())
    toolset = OpenAPIToolset(
        spec_dict=spec_of(server.url),
        auth_scheme=OpenIdConnect(open_id_connect_url=f"{server.url}/openid"),
        auth_credential=client(),
        allow_private_network_access=True,
    )
    _, asked, _ = await ask_twice(toolset)
    raw = (asked[0].args or {})["authConfig"]["rawAuthCredential"]["oauth2"]
    assert "authUri" not in raw


async def test_t8_endpoints_of_openid_connect_are_discovered(server: EchoServer) -> None:
    found = {"authorization_endpoint": f"{server.url}/login", "token_endpoint": f"{server.url}/token"}
    server.routes["/.well-known/openid-configuration"] = lambda _: Reply(body=json.dumps(found).encode())
    server.routes["/token"] = issue("t0ken")
    toolset = OpenAPIToolset(
        spec_dict=spec_of(server.url),
        auth_scheme=OpenIdConnect(open_id_connect_url=f"{server.url}/.well-known/openid-configuration"),
        auth_credential=client(),
        allow_private_network_access=True,
    )
    chat, asked, _ = await ask_twice(toolset)
    raw = (asked[0].args or {})["authConfig"]["rawAuthCredential"]["oauth2"]
    assert raw["authUri"].startswith(f"{server.url}/login?")
    back = AuthCredential(auth_type="openIdConnect", oauth2=OAuth2Auth(auth_code="gr4nt"))
    await chat.send(filled(asked[0], back))
    assert server.last.headers["authorization"] == "Bearer t0ken"


def test_helpers_name_what_is_missing() -> None:
    with pytest.raises(ConfigurationError, match="a name and a location"):
        token_to_scheme_credential("apikey", "header", None, SECRET)
    with pytest.raises(ConfigurationError, match="client_secret"):
        openid_dict_to_scheme_credential(
            {"authorization_endpoint": "https://a", "token_endpoint": "https://t"}, [], {"client_id": "x"}
        )


def test_helpers_read_a_registration_as_it_is_downloaded() -> None:
    config = {"authorization_endpoint": "https://a", "token_endpoint": "https://t", "issuer": "https://i"}
    registration = {"web": {"client_id": "shop", "client_secret": SECRET}}
    scheme, credential = openid_dict_to_scheme_credential(config, ["openid"], registration)
    assert scheme.scopes == ["openid"]
    assert credential.oauth2 is not None and credential.oauth2.client_id == "shop"


@pytest.mark.parametrize("is_given", [True, False])
async def test_t8_a_function_gets_the_credential_of_the_author_or_the_person(is_given: bool) -> None:
    given = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET)

    async def look_up(order: int, credential: AuthCredential) -> str:
        return f"{order}: {credential.api_key == SECRET}"

    scheme, _ = token_to_scheme_credential("apikey", "header", "X-Key", SECRET)
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=given if is_given else None)
    tool = AuthenticatedFunctionTool(func=look_up, auth_config=config)
    declared = tool._get_declaration()
    assert declared and declared.parameters and list(declared.parameters.properties or ()) == ["order"]
    model = ScriptedModel(turns=[[call("look_up", "c1", order=7)], "Done."])
    chat = await Chat.with_agent(LlmAgent(name="clerk", model=model, tools=[tool]))
    events = await chat.send("go")
    if not is_given:
        [asked] = requests(events, "adk_request_credential")
        events = await chat.send(filled(asked, given))
    assert answers(events) == [("c1", {"result": "7: True"})]
    assert SECRET not in await chat.log_text()
