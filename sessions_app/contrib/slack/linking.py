"""Linking of a Slack account to a user: a signed link, sent to the account, that the signed-in user confirms."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from sessions_app.base import actors
from sessions_app.base.client_address import client_address
from sessions_app.errors import ConflictError, http_status
from sessions_app.rendering.hidden_characters import escape_hidden
from sessions_app.rendering.sentences import in_language
from sessions_app.use_cases import ForeignAccount, link_account

SALT = "sessions_app.contrib.slack"
LINK_SECONDS = 900
NAME_LENGTH = 200


def token_for(account: ForeignAccount, name: str) -> str:
    """Return the token of a link for a Slack account, valid for `LINK_SECONDS`.

    Args:
        name: name at Slack, in which anybody may write characters that turn text around.
    """
    return signing.dumps({"account": asdict(account), "name": escape_hidden(name)[:NAME_LENGTH]}, salt=SALT)


@require_http_methods(["GET", "POST"])
@login_required
def link(request: HttpRequest, token: str) -> HttpResponse:
    """Ask the user whether the account is theirs, and link it."""
    context: dict[str, Any] = {}
    status = HTTPStatus.OK
    try:
        signed = signing.loads(token, salt=SALT, max_age=LINK_SECONDS)
        context = {"name": signed["name"], "workspace": signed["account"]["place"]}
        if request.method == "POST":
            by = actors.person(request.user, client_address(request))
            link_account(by, ForeignAccount(**signed["account"]), signed["name"])
            context["is_linked"] = True
    except signing.BadSignature:
        status = HTTPStatus.NOT_FOUND
        context["error"] = gettext(
            "This link is too old, or is not complete. Write to the agent in Slack again."
        )
    except ConflictError as error:
        status = http_status(error)
        context["error"] = in_language(str(error))
    response = render(request, "chat/slack_link.html", context, status=status)
    # Whoever has the address could link the account to themselves.
    response.headers["Referrer-Policy"] = "same-origin"
    return response
