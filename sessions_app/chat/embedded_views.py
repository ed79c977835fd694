"""Pages for the template tag `adk_chat`, which embeds a chat in an `<iframe>` of another page of the site."""

from http import HTTPStatus
from typing import Any
from uuid import UUID, uuid4

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from sessions_app.chat.views import context_of_session, unsaved_session
from sessions_app.errors import NotFoundError
from sessions_app.models import Session
from sessions_app.sessions.agent_access import usable_apps
from sessions_app.sessions.ownership import User, own_session
from sessions_app.use_cases.sessions import may_create_session


@require_GET
async def new_session(request: HttpRequest, app_name: str) -> HttpResponseBase:
    """Redirect to the page of a new session, which is created by its first message."""
    return await _page_without_chat(request, app_name) or redirect("chat:embedded", app_name, uuid4())


@require_GET
async def session_page(request: HttpRequest, app_name: str, session_id: UUID) -> HttpResponseBase:
    """Return the page of the user's session with the app, or of a session that does not exist yet.

    For any other session, redirect to a new one.
    """
    if page := await _page_without_chat(request, app_name):
        return page
    user = await request.auser()
    try:
        if await may_create_session(user, app_name, session_id):
            session = unsaved_session(user, session_id, app_name)
        else:
            session = await _own_session_with(app_name, user, session_id)
    except NotFoundError:
        return redirect("chat:embedded_new", app_name)
    context = await context_of_session(user, session, is_new=not session.has_begun)
    context["several_apps"] = False  # the page around has chosen the app
    return _render_framed(request, "chat/embedded.html", context)


async def _own_session_with(app_name: str, user: User, session_id: UUID) -> Session:
    session = await own_session(user, session_id)
    if session.app_name != app_name:
        raise NotFoundError(f"Session '{session_id}' is not with {app_name!r}.")
    return session


async def _page_without_chat(request: HttpRequest, app_name: str) -> HttpResponseBase | None:
    """Return a page to show in place of the chat, or None if the user is signed in and may use the app."""
    # Not `login_required`: it would redirect to the sign-in page, which may not be shown in a frame.
    user = await request.auser()
    if not user.is_authenticated:
        return _render_framed(request, "chat/embedded_sign_in.html", {"address": _sign_in_address(request)})
    if app_name not in await usable_apps(user):
        context = {"app_name": app_name}
        return _render_framed(request, "chat/embedded_missing.html", context, HTTPStatus.NOT_FOUND)
    return None


def _sign_in_address(request: HttpRequest) -> str:
    """Return the address of the sign-in page; after the sign-in the browser returns to the page around the iframe."""
    around = request.headers.get("Referer", "")
    # Only to pages of this site: the header may name any address.
    is_own = url_has_allowed_host_and_scheme(around, {request.get_host()}, request.is_secure())
    return redirect_to_login(around if is_own else resolve_url("chat:start")).url


def _render_framed(
    request: HttpRequest, template: str, context: dict[str, Any], status: int = HTTPStatus.OK
) -> HttpResponseBase:
    """Return a page for an iframe in pages of this site."""
    response = render(request, template, context, status=status)
    # Both headers: Django's middleware would add `DENY`, and the site's policy refuses frames as well.
    response["X-Frame-Options"] = "SAMEORIGIN"
    allow_own_pages = csp_replace({"frame-ancestors": [SELF]})
    return allow_own_pages(lambda request: response)(request)
