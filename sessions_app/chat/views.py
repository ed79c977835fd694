"""Pages of the chat: the list of sessions, one session, older events. Other people's sessions answer 404."""

from __future__ import annotations

from http import HTTPStatus
from math import ceil
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from runtime.sessions.state import State
from sessions_app import agent_registry, use_cases
from sessions_app.chat.log_page import newest_page, older_page
from sessions_app.client_address import client_network
from sessions_app.conf import conf
from sessions_app.db.threads import fetch_rows, in_thread
from sessions_app.errors import LimitExceededError, NotFoundError
from sessions_app.models import Invocation, Session, UserState
from sessions_app.models.session import SessionQuerySet
from sessions_app.ownership import own_session_or_404
from sessions_app.rendering.blocks import one_line
from sessions_app.rendering.session_view import may_see_details

SESSIONS_ON_A_PAGE = 20


@require_GET
@login_required
async def home(request: HttpRequest) -> HttpResponse:
    """Return the apps of the site and the person's sessions, newest first."""
    person = await request.auser()
    page = _page_number(request.GET.get("page", "1"))
    start = (page - 1) * SESSIONS_ON_A_PAGE
    listed = await fetch_rows(_session_list(person)[start : start + SESSIONS_ON_A_PAGE + 1])
    apps = list(agent_registry.apps().values())
    context = {
        "person": person,
        "banner": _banner(),
        "agent_problems": _agent_problems(person),
        "apps": apps,
        "several_apps": len(apps) > 1,
        "sessions": listed[:SESSIONS_ON_A_PAGE],
        "has_more": len(listed) > SESSIONS_ON_A_PAGE,
        "page": page,
    }
    return render(request, "chat/home.html", context)


@require_POST
@login_required
async def new_session(request: HttpRequest, app_name: str) -> HttpResponse:
    """Create a session with the app and redirect to it."""
    try:
        session = await use_cases.create_session(await request.auser(), app_name, client_network(request))
    except NotFoundError as error:
        raise Http404(str(error)) from error
    except LimitExceededError as error:
        return _too_many(request, error)
    return redirect("chat:session", session.id)


@require_GET
@login_required
async def session_page(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return one session with its newest events, beside the list of the person's sessions."""
    person = await request.auser()
    session = await own_session_or_404(person, session_id)
    context = {
        "person": person,
        "banner": _banner(),
        "agent_problems": _agent_problems(person),
        "session": session,
        "sessions": await fetch_rows(_session_list(person)[:SESSIONS_ON_A_PAGE]),
        "log_page": await newest_page(session, person),
        "state": await _visible_state(session) if may_see_details(person) else [],
        "shows_details": may_see_details(person),
        "conf": conf(),
    }
    return render(request, "chat/session.html", context)


@require_GET
@login_required
async def earlier_events(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the events before `?before=<seq>`, as a part of the page."""
    before = request.GET.get("before", "")
    if not before.isdecimal() or len(before) > 18:  # a larger number fits no column
        return HttpResponseBadRequest("Add ?before=<seq>, the number of the oldest event that the page has.")
    person = await request.auser()
    session = await own_session_or_404(person, session_id)
    page = await older_page(session, person, int(before))
    return render(request, "chat/log_page.html", {"log_page": page})


def _session_list(person: AbstractBaseUser | AnonymousUser) -> SessionQuerySet:
    active = Invocation.objects.active().filter(session=OuterRef("pk"))
    return Session.objects.owned_by(person).newest_first().annotate(is_busy=Exists(active))


async def _visible_state(session: Session) -> list[tuple[str, str]]:
    """Return the session's and the person's state as pairs of words. The app's state is everybody's and left out."""
    rows = UserState.objects.filter(app_name=session.app_name, user_id=session.user_id)
    shared = await in_thread(rows.first)
    state: dict[str, Any] = (
        {f"{State.USER_PREFIX}{key}": value for key, value in shared.state.items()} if shared else {}
    )
    items = sorted({**session.state, **state}.items())
    return [(key, one_line(value)) for key, value in items if value is not None]


def _too_many(request: HttpRequest, error: LimitExceededError) -> HttpResponse:
    response = render(request, "429.html", {"message": str(error)}, status=HTTPStatus.TOO_MANY_REQUESTS)
    if error.retry_seconds is not None:
        response["Retry-After"] = str(ceil(error.retry_seconds))
    return response


def _banner() -> str:
    """Return the site's sentence for every page."""
    banner: str = getattr(settings, "ADK_BANNER", "")
    return banner


def _agent_problems(person: AbstractBaseUser | AnonymousUser) -> list[str]:
    """Return a sentence for each agent that cannot be loaded, for staff, and for everybody in development."""
    if conf().reload_agents or getattr(person, "is_staff", False):
        return list(agent_registry.registry().problems.values())
    return []


def _page_number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 6 else 1
