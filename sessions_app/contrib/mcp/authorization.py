"""Sign-in of programs by OAuth 2.1: addresses for programs, as ASGI applications. `consent.py` has the page for people.

    /mcp                                        401 names the metadata of the server (RFC 9728)
    /.well-known/oauth-protected-resource/mcp   names this site as the authorization server
    /.well-known/oauth-authorization-server     its addresses (RFC 8414)
    /mcp/register                               a program gets its client id (RFC 7591)
    /authorize/                                 the person allows it, and returns with a code
    /mcp/token                                  the program exchanges the code for an API key of the person

The key is like those that people make themselves: it is listed and revoked on their page "API keys".
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import NoReturn
from uuid import UUID

from django.contrib.auth import get_user_model
from django.core.exceptions import RequestAborted
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from pydantic import BaseModel, Field, ValidationError

from sessions_app.api.access.problems import problem_of
from sessions_app.asgi.origin import http_request, is_from_own_page
from sessions_app.asgi.problem_details import method_not_allowed
from sessions_app.asgi.protocol import Application, AsgiScope, Receive, Send, read_body, send_response
from sessions_app.base import actors
from sessions_app.base.client_address import client_address
from sessions_app.contrib.mcp.programs import (
    MAX_ADDRESSES,
    SCOPES,
    Grant,
    Program,
    checked_address,
    grant_of,
    named_program,
    program_of,
)
from sessions_app.errors import LimitExceededError, PermissionDeniedError
from sessions_app.live.account_changes import publish_account_change
from sessions_app.models import ApiKey, Scope
from sessions_app.process.threads import in_thread
from sessions_app.secrets.digests import digest_of
from sessions_app.use_cases.keys import KeyProperties, make_key, revoke_key

KEY_DAYS = 30
"""Lifetime of a key in days. There are no refresh tokens: afterwards the person is asked again."""
MAX_BODY_BYTES = 100_000
SERVER = "mcp"
REGISTER = "mcp/register"
TOKEN = "mcp/token"  # noqa: S105 - an address
METADATA = ".well-known/oauth-protected-resource/mcp"
Handler = Callable[[HttpRequest, bytes], Awaitable[HttpResponse]]


class OAuthError(Exception):
    """A refusal as OAuth has it (RFC 6749, section 5.2): a code for the program, and a sentence for its developer."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Registration(BaseModel):
    """A program's description of itself; the site has no use for other fields."""

    client_name: str = ""
    redirect_uris: list[str] = Field(min_length=1, max_length=MAX_ADDRESSES)


def server_address(request: HttpRequest) -> str:
    """Return the address of the MCP server, as programs name it in the parameter `resource` (RFC 8707)."""
    return _address(request, SERVER)


def issuer(request: HttpRequest) -> str:
    """Return the identifier of the site as an authorization server."""
    return _address(request, "").removesuffix("/")


def challenge(scope: AsgiScope) -> str:
    """Return the header `WWW-Authenticate` for a request without a valid key."""
    return f'Bearer resource_metadata="{_address(http_request(scope), METADATA)}"'


async def _describe_server(request: HttpRequest, body: bytes) -> HttpResponse:
    return JsonResponse(
        {
            "resource": server_address(request),
            "authorization_servers": [issuer(request)],
            "scopes_supported": SCOPES,
            "bearer_methods_supported": ["header"],
        }
    )


async def _describe_site(request: HttpRequest, body: bytes) -> HttpResponse:
    return JsonResponse(
        {
            "issuer": issuer(request),
            "authorization_endpoint": request.build_absolute_uri(reverse("chat:authorize_program")),
            "token_endpoint": _address(request, TOKEN),
            "registration_endpoint": _address(request, REGISTER),
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
    )


async def _register(request: HttpRequest, body: bytes) -> HttpResponse:
    try:
        given = Registration.model_validate_json(body)
    except ValidationError as error:
        wrong = ", ".join(_name_of_field(detail["loc"]) for detail in error.errors())
        raise OAuthError("invalid_client_metadata", f"Correct {wrong}.") from error
    addresses = []
    for given_address in given.redirect_uris:
        address = checked_address(given_address)
        if address is None:
            raise OAuthError(
                "invalid_redirect_uri",
                "Return addresses are of https, or of http at 127.0.0.1, [::1] or localhost.",
            )
        addresses.append(address)
    program = named_program(given.client_name, addresses)
    fields = {
        "client_id": program.client_id,
        "client_name": program.name,
        "redirect_uris": given.redirect_uris,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
    }
    return JsonResponse(fields, status=HTTPStatus.CREATED)


async def _exchange(request: HttpRequest, body: bytes) -> HttpResponse:
    form = QueryDict(body)
    if form.get("grant_type") != "authorization_code":
        raise OAuthError("unsupported_grant_type", "The only grant here is authorization_code.")
    client_id = form.get("client_id", "")
    program = program_of(client_id)
    if program is None:
        raise OAuthError("invalid_client", "The site has not made this client_id. Register again.")
    grant = grant_of(form.get("code", ""))
    if grant is None or grant.client_id_digest != digest_of(client_id):
        _refuse_grant("The code is not one of this client, or it is too old.")
    if program.return_address(form.get("redirect_uri", "")) != grant.address:
        _refuse_grant("The code was sent to another redirect_uri.")
    if not grant.is_answered_by(form.get("code_verifier", "")):
        _refuse_grant("The code_verifier is not the one of the code_challenge.")
    if form.get("resource") != grant.resource:
        raise OAuthError("invalid_target", "The resource is not the one of the code.")
    key = await in_thread(_make_key, grant, program, client_address(request))
    if key is None:
        await publish_account_change(grant.user_id)
        _refuse_grant("The code was used before. The key that was made with it is revoked.")
    return JsonResponse(
        {
            "access_token": key,
            "token_type": "Bearer",
            "expires_in": int(timedelta(days=KEY_DAYS).total_seconds()),
            "scope": " ".join(grant.scopes),
        }
    )


@transaction.atomic
def _make_key(grant: Grant, program: Program, address: str) -> str | None:
    """Make the key of a grant and return it. At the second use of a code revoke the key, and return None.

    Raises:
        OAuthError: the person has left, or has too many keys.
    """
    # The lock lets the second use of a code wait for the first.
    users = get_user_model()._base_manager.select_for_update()
    user = users.filter(pk=grant.user_id, is_active=True).first()
    if user is None:
        _refuse_grant("The person has no account any more.")
    by = actors.person(user, address)
    made = ApiKey.objects.filter(pk=grant.key_id)
    if made.exists():
        revoke_key(made, grant.key_id, by)
        return None
    properties = KeyProperties(
        name=program.name,
        scopes=tuple(map(Scope, grant.scopes)),
        expires_at=timezone.now() + timedelta(days=KEY_DAYS),
    )
    try:
        _, key = make_key(user, properties, by, key_id=UUID(grant.key_id))
    except LimitExceededError as error:
        raise OAuthError("invalid_request", str(error)) from error
    return key


def _name_of_field(location: tuple[int | str, ...]) -> str:
    if not location:
        return "the body"
    return str(location[0])


def _refuse_grant(sentence: str) -> NoReturn:
    raise OAuthError("invalid_grant", sentence)


def _address(request: HttpRequest, route: str) -> str:
    return request.build_absolute_uri(f"{request.META['SCRIPT_NAME'].rstrip('/')}/{route}")


def _application(method: str, handle: Handler) -> Application:
    async def application(scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] != method:
                response: HttpResponse = method_not_allowed(method)
            else:
                if not is_from_own_page(scope, needs_origin=False):
                    raise PermissionDeniedError(
                        "The site has no such host, or a page of another site asks for this."
                    )
                response = await handle(http_request(scope), await read_body(receive, MAX_BODY_BYTES))
        except RequestAborted:
            return  # The program has left.
        except OAuthError as error:
            fields = {"error": error.code, "error_description": str(error)}
            response = JsonResponse(fields, status=HTTPStatus.BAD_REQUEST)
        except Exception as error:  # noqa: BLE001 - logged, and reported to the program
            response = problem_of(error)
        response["Cache-Control"] = "no-store"
        await send_response(send, response)

    return application


APPLICATIONS = {
    METADATA: _application("GET", _describe_server),
    ".well-known/oauth-authorization-server": _application("GET", _describe_site),
    REGISTER: _application("POST", _register),
    TOKEN: _application("POST", _exchange),
}
