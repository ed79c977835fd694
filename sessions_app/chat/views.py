"""Pages of the chat: home, one session, older events, the list. Sessions of other users are answered with 404."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import walk_trees
from runtime.apps.app import App
from runtime.errors import AdkError
from runtime.valid_text import storable
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.agent_apps.checks.agents import flaws_of
from sessions_app.chat.event_views import may_see_causes
from sessions_app.chat.log_page import EMPTY_PAGE, newest_page, older_page
from sessions_app.chat.requests import actor_of, error_response, has_rights
from sessions_app.conf import conf
from sessions_app.data_protection.transcripts.session_json import state_of_user
from sessions_app.errors import InvalidInputError
from sessions_app.history.alternatives import find_forks
from sessions_app.history.rewinds import find_rewinds
from sessions_app.history.workflow_progress import load_progress
from sessions_app.invocations.chosen_model import chosen_name, offered_models
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.rendering.outline import one_line
from sessions_app.rendering.sentences import in_language
from sessions_app.rendering.session_view import may_see_details
from sessions_app.rendering.workflow_card import CardMaker
from sessions_app.sessions.agent_access import usable_apps
from sessions_app.sessions.list.listing import SessionListPage, list_sessions
from sessions_app.sessions.list.search import search_sessions
from sessions_app.sessions.ownership import User, own_session_or_404
from sessions_app.use_cases.sessions import may_create_session

READ_AUDIT = ("sessions_app.view_session", "sessions_app.view_text")


@require_GET
@login_required
async def home(request: HttpRequest) -> HttpResponse:
    """Return the apps of the site and a page of the user's list of sessions."""
    user = await request.auser()
    try:
        page = await list_page_of(user, request)
    except InvalidInputError as error:
        return HttpResponseBadRequest(in_language(str(error)))
    apps = list((await usable_apps(user)).values())
    context = {
        "person": user,
        "banner": _banner(apps),
        "agent_problems": _agent_problems(user),
        "apps": [(app, registry.starters(app.name)) for app in apps],
        "several_apps": len(apps) > 1,
        "has_agents": bool(registry.apps()),
        "list": page,
        "is_archive": "archived" in request.GET,
        "is_first_page": "before" not in request.GET,
    }
    return render(request, "chat/home.html", context)


@require_GET
@login_required
async def start(request: HttpRequest) -> HttpResponse:
    """Redirect after the sign-in: to a new chat if the user may use one app, else to the home page."""
    apps = list(await usable_apps(await request.auser()))
    if len(apps) == 1:
        return redirect("chat:new", apps[0])
    return redirect("chat:home")


@require_GET
@login_required
async def new_session(request: HttpRequest, app_name: str) -> HttpResponse:
    """Redirect to the page of a new session, which is created by its first message."""
    if app_name not in await usable_apps(await request.auser()):
        raise Http404(f"There is no app {app_name!r}.")
    # Nothing is stored yet: a page that is opened and left would leave an empty session in the list.
    address = reverse("chat:session", args=[uuid4()])
    return redirect(f"{address}?{urlencode({'new': app_name})}")


@require_GET
@login_required
async def session_page(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the page of a session: the newest events, and the list of the user's sessions.

    With `?new=<app>` the session need not exist yet. A session with uploads and no message is still a new chat.
    """
    user = await request.auser()
    new_app = request.GET.get("new", "")
    is_new = bool(new_app) and await may_create_session(user, new_app, session_id)
    if is_new:
        session = unsaved_session(user, session_id, new_app)
    else:
        session = await own_session_or_404(user, session_id)
        is_new = session.app_name == new_app and not session.has_begun
    chats = await in_thread(list_sessions, user)
    context = {**await context_of_session(user, session, is_new), "list": chats}
    return render(request, "chat/session.html", context)


@require_GET
@login_required
async def earlier_events(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the events before `?before=<seq>` as an HTML fragment."""
    before = request.GET.get("before", "")
    if not before.isdecimal() or len(before) > 18:  # a larger number fits no column
        return HttpResponseBadRequest("Add ?before=<seq>, the number of the oldest event that the page has.")
    user = await request.auser()
    session = await own_session_or_404(user, session_id)
    page = await older_page(session, user, int(before))
    return render(request, "chat/log_page.html", {"log_page": page})


@require_GET
@login_required
async def alternatives(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the switches between alternatives as an HTML fragment."""
    session = await own_session_or_404(await request.auser(), session_id)
    rewinds = await in_thread(find_rewinds, session.pk, session.last_seq)
    forks = await in_thread(find_forks, session, rewinds)
    return render(request, "chat/alternatives.html", {"forks": forks})


def unsaved_session(user: User, session_id: UUID, app_name: str) -> Session:
    """Return a session for a page, without storing it."""
    return Session(pk=session_id, app_name=app_name, user=user, created_at=timezone.now())  # type: ignore[misc]  # a signed-in user


async def context_of_session(user: User, session: Session, is_new: bool) -> dict[str, Any]:
    """Return the template context of a session's page, without the list of the user's sessions."""
    shows_details = may_see_details(user)
    state = []
    log_page = EMPTY_PAGE
    audit_url = ""
    if not is_new:
        log_page = await newest_page(session, user)
        audit_url = await _audit_url(user, session)
        if shows_details:
            state = await _visible_state(session)
    apps = await usable_apps(user)
    agent = registry.apps().get(session.app_name)
    return {
        "person": user,
        "banner": _banner([agent] if agent else []),
        "agent_problems": _agent_problems(user),
        "session": session,
        "is_new": is_new,
        "agent": agent,
        "is_closed": agent is not None and session.app_name not in apps,
        "starters": registry.starters(session.app_name),
        "apps": list(apps),
        "several_apps": len(apps) > 1,
        "models": list(offered_models(session.app_name).items()),
        "chosen_model": chosen_name(session.app_name, session.state),
        "log_page": log_page,
        "state": state,
        "shows_details": shows_details,
        "audit_url": audit_url,
        "shows_causes": await may_see_causes(user),
        "conf": conf(),
    }


async def _audit_url(user: User, session: Session) -> str:
    """Return the address of the session's page in the admin; empty if the user may not open the page."""
    if not await has_rights(user, *READ_AUDIT):
        return ""
    try:
        return reverse("admin:sessions_app_session_change", args=[session.pk])
    except NoReverseMatch:  # A project may have no admin.
        return ""


async def _visible_state(session: Session) -> list[tuple[str, str]]:
    """Return the keys and one-line values of the session's and the user's state."""
    # Without the state of the app, which all its users share.
    items = sorted((await in_thread(state_of_user, session)).items())
    return [(key, one_line(value)) for key, value in items if value is not None]


def _banner(apps: Iterable[App]) -> str:
    """Return the site's notice about its model; empty if no agent of the apps asks this model."""
    banner = str(getattr(settings, "ADK_BANNER", ""))
    model: str = getattr(settings, "ADK_MODEL", "")
    return banner if any(_asks(app, model) for app in apps) else ""


def _asks(app: App, model: str) -> bool:
    for agent in walk_trees(app.root_agent):
        if isinstance(agent, LlmAgent) and agent.model == model:
            return True
    return False


def _agent_problems(user: User) -> list[str]:
    """Return a sentence for each agent that cannot be loaded, to developers also for each flaw that the check finds.

    Users other than developers and staff get none.
    """
    served = registry.registry()
    problems = list(served.problems.values())
    if conf().reload_agents:
        return problems + flaws_of(served)
    return problems if getattr(user, "is_staff", False) else []


@require_GET
@login_required
async def steps(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the cards of the workflows of `?invocation=<id>` as an HTML fragment; empty without a workflow."""
    session = await own_session_or_404(await request.auser(), session_id)
    loaded = await in_thread(load_progress, session, storable(request.GET.get("invocation", "")))
    cards = CardMaker(session.app_name).cards(loaded)
    return HttpResponse("".join([render_to_string("chat/steps.html", {"card": card}) for card in cards]))


@require_GET
@login_required
async def session_list(request: HttpRequest) -> HttpResponse:
    """Return a page of the user's list (see `list_page_of`); 400 for a bad query."""
    user = await request.auser()
    try:
        page = await list_page_of(user, request)
    except InvalidInputError as error:
        return error_response(error)
    context = {"list": page, "is_archive": "archived" in request.GET}
    return render(request, "chat/session_list.html", context)


async def list_page_of(user: User, request: HttpRequest) -> SessionListPage:
    """Return a page of the user's list, as the query string asks for it.

    `?q=<words>` searches. Without it `?archived` lists archived sessions, `?before=<cursor>` continues a page, and
    `?rows=<number>` asks for a longer page.

    Raises:
        InvalidInputError: the cursor or the number of rows cannot be read.
    """
    query = request.GET.get("q", "")
    if query:
        return await in_thread(search_sessions, user, query)
    return await in_thread(
        list_sessions,
        user,
        before=request.GET.get("before", ""),
        archived="archived" in request.GET,
        rows=request.GET.get("rows", ""),
    )


@require_POST
@login_required
async def change_session(request: HttpRequest, session_id: UUID, change: str) -> HttpResponse:
    """Make a change to a session in the list, such as `pin`."""
    try:
        by = await actor_of(request)
        await use_cases.change_session(by, session_id, change, request.POST.get("title", ""))
    except AdkError as error:
        return error_response(error)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)
