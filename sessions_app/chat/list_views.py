"""Views of a user's sessions: list and search as HTML fragments, and the changes that the list offers."""

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from runtime.errors import AdkError
from sessions_app import use_cases
from sessions_app.chat.requests import actor_of, error_response
from sessions_app.errors import InvalidInputError
from sessions_app.process.threads import in_thread
from sessions_app.sessions.list.listing import SessionListPage, list_sessions
from sessions_app.sessions.list.search import search_sessions
from sessions_app.sessions.ownership import User


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
