"""Page on which a person lets a program use the site in their name; see `authorization.py`.

Anybody can register a program with any name and any address of HTTPS. So the page says what it knows, and only a press
of one of its two buttons sends the person to the program: errors are shown here.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from csp.constants import SELF
from csp.decorators import csp_update
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods
from pydantic import BaseModel, Field, ValidationError

from sessions_app.chat.key_views import SCOPE_WORDS
from sessions_app.contrib.mcp.authorization import KEY_DAYS, issuer, server_address
from sessions_app.contrib.mcp.programs import SCOPES, Grant, program_of
from sessions_app.errors import InvalidInputError
from sessions_app.models import Scope
from sessions_app.rendering.sentences import in_language
from sessions_app.secrets.digests import digest_of

PAGE = "chat/authorize_program.html"


class AuthorizationRequest(BaseModel):
    """Parameters of the address that a program opens (RFC 6749, RFC 7636, RFC 8707)."""

    client_id: str
    redirect_uri: str
    response_type: Literal["code"]
    code_challenge: str = Field(pattern=r"^[A-Za-z0-9_-]{43}$")
    code_challenge_method: Literal["S256"]
    resource: str
    scope: str = ""
    state: str = ""


@require_http_methods(["GET", "POST"])
@login_required
def authorize_program(request: HttpRequest) -> HttpResponseBase:
    """Ask the person whether the program may use the site; send them back to the program with the answer (POST)."""
    try:
        asked = _parameters(request)
        program = program_of(asked.client_id)
        if program is None:
            raise InvalidInputError("The site does not know this program. Let the program register again.")
        address = program.return_address(asked.redirect_uri)
        if address is None:
            raise InvalidInputError("The program has not registered the address to which you would return.")
        scopes = _scopes(asked)
    except InvalidInputError as error:
        return render(request, PAGE, {"error": in_language(str(error))}, status=HTTPStatus.BAD_REQUEST)
    if request.method == "POST":
        return _return_to(address, request, asked, scopes)
    context = {
        "program": program,
        "address": address,
        "is_on_own_computer": address.startswith("http:"),
        "rights": [SCOPE_WORDS[scope] for scope in scopes],
        "days": KEY_DAYS,
    }
    # Browsers apply `form-action` to the redirect that answers the form, too.
    url = urlsplit(address)
    policy = {"form-action": [SELF, f"{url.scheme}://{url.netloc}"]}
    return csp_update(policy)(lambda request: render(request, PAGE, context))(request)


def _parameters(request: HttpRequest) -> AuthorizationRequest:
    """Return the parameters of a request. Those that are repeated or missing are refused."""
    given = {name: values[0] for name, values in request.GET.lists() if len(values) == 1}
    try:
        asked = AuthorizationRequest.model_validate(given)
    except ValidationError as error:
        names = sorted({str(wrong["loc"][0]) for wrong in error.errors()})
        raise _wrong(*names) from error
    if asked.resource != server_address(request):
        raise _wrong("resource")
    return asked


def _scopes(asked: AuthorizationRequest) -> list[Scope]:
    """Return the scopes that the program asks for: all that it can get if it names none."""
    names = asked.scope.split()
    if not set(names) <= set(SCOPES):
        raise _wrong("scope")
    return [scope for scope in SCOPES if not names or scope in names]


def _wrong(*names: str) -> InvalidInputError:
    return InvalidInputError(f"The program has sent a wrong request: {', '.join(names)}.")


def _return_to(
    address: str, request: HttpRequest, asked: AuthorizationRequest, scopes: Sequence[Scope]
) -> HttpResponseBase:
    if "allow" in request.POST:
        grant = Grant(
            key_id=str(uuid4()),
            user_id=str(request.user.pk),
            client_id_digest=digest_of(asked.client_id),
            address=address,
            challenge=asked.code_challenge,
            resource=asked.resource,
            scopes=scopes,
        )
        answer = {"code": grant.code}
    else:
        answer = {"error": "access_denied"}
    answer["iss"] = issuer(request)  # RFC 9207
    if asked.state:
        answer["state"] = asked.state
    separator = "&" if urlsplit(address).query else "?"
    return HttpResponseRedirect(f"{address}{separator}{urlencode(answer)}")
