"""Pages of a sign-in at another service: the way there, and the page to which the service sends the person back.

What is pending is kept in the person's login. Another browser cannot use it, and it is gone after its first use.
"""

import logging
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.sessions.backends.base import SessionBase
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET

from runtime.errors import AdkError
from runtime.tools.openapi_tool.auth.sign_in import SignInError
from runtime.tools.openapi_tool.http_exchange import ExchangeError
from sessions_app import use_cases
from sessions_app.chat.requests import actor_of
from sessions_app.errors import http_status
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sentences import in_language
from sessions_app.secrets.digests import digest_of
from sessions_app.use_cases.sign_in import Begun, PendingSignIn

logger = logging.getLogger(__name__)
PENDING = "adk_sign_ins"
"""Key of the login with the pending sign-ins, by the digest of their state."""
MOST_PENDING = 5
UNKNOWN = gettext_noop("This sign-in is not known here, or was used already. Begin it again in the chat.")


@require_GET
@login_required
async def begin(request: HttpRequest, call_id: str) -> HttpResponse:
    """Send the person to the service at which the call wants them to sign in."""
    # A page of another site must not send people into a sign-in that they have not asked for.
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise PermissionDenied
    redirect_uri = request.build_absolute_uri(reverse("chat:signed_in"))
    try:
        begun = await use_cases.begin_sign_in(await request.auser(), call_id, redirect_uri)
    except AdkError as error:
        return await _page(request, error)
    await in_thread(_keep, request.session, begun)
    return redirect(begun.url)


@require_GET
@login_required
async def signed_in(request: HttpRequest) -> HttpResponse:
    """Take the answer of the service, resume the chat, and say what has happened."""
    pending = await in_thread(_take, request.session, digest_of(request.GET.get("state", "")))
    if pending is None:
        return await _page(request, SignInError(UNKNOWN))
    by = await actor_of(request)
    try:
        await use_cases.end_sign_in(by, pending, request.GET.dict())
    except AdkError as error:
        return await _page(request, error, pending)
    return await _page(request, pending=pending)


def _keep(login: SessionBase, begun: Begun) -> None:
    kept: dict[str, Any] = dict(login.get(PENDING, {}))
    kept[begun.digest] = begun.pending
    login[PENDING] = dict(list(kept.items())[-MOST_PENDING:])


def _take(login: SessionBase, digest: str) -> PendingSignIn | None:
    """Return the pending sign-in of a state, and forget it. Of two requests for one state, the first gets it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('adk:sign-in:' || %s, 0))", [digest])
        # Read again: another request may have taken it since this one loaded the login.
        kept: dict[str, Any] = dict(type(login)(login.session_key).get(PENDING, {}))
        found = kept.pop(digest, None)
        if found is None:
            return None
        login[PENDING] = kept
        login.save()
    return PendingSignIn(*found)


async def _page(
    request: HttpRequest, error: AdkError | None = None, pending: PendingSignIn | None = None
) -> HttpResponse:
    status = HTTPStatus.OK
    sentence = ""
    if isinstance(error, SignInError):
        status = HTTPStatus.BAD_REQUEST
        sentence = in_language(str(error))
    elif isinstance(error, ExchangeError):
        # Its sentence is for the model, and names addresses.
        logger.warning("A sign-in failed: %s", error)
        status = HTTPStatus.BAD_REQUEST
        sentence = gettext("The service could not be reached, or refused the sign-in. Try again in the chat.")
    elif error:
        status = http_status(error)
        sentence = in_language(str(error))
    context = {"error": sentence, "session_id": pending and pending.session_id}
    response = await in_thread(render, request, "chat/signed_in.html", context, status=status)
    # The address has the code: neither a link nor an asset of the page may tell it.
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
