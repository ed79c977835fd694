"""Sharing of a session: the owner's dialog about the share link, and the page behind the link."""

from dataclasses import replace
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.chat.exports import NO_GUESS
from sessions_app.chat.requests import actor_of
from sessions_app.conf import conf
from sessions_app.data_protection.transcripts.pages import stream_page
from sessions_app.errors import NotFoundError
from sessions_app.live.process import live
from sessions_app.models import Session, ShareLink
from sessions_app.process.threads import in_thread
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.sessions import sharing
from sessions_app.sessions.agent_access import may_use
from sessions_app.sessions.ownership import User, own_session_or_404


@require_http_methods(["GET", "POST"])
@login_required
async def share(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the dialog about the session's link (GET), or make the link and return the dialog (POST)."""
    user = await request.auser()
    session = await _shareable_session(user, session_id)
    if request.method == "GET":
        return _dialog(request, await in_thread(sharing.active_link, session))
    if not await may_use(user.pk, session.app_name):
        raise PermissionDenied
    link = await in_thread(sharing.make_link, session, await actor_of(request))
    live().list_news.publish(user.pk)
    return _dialog(request, link)


@require_POST
@login_required
async def revoke(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Revoke the session's link; return the dialog without a link."""
    user = await request.auser()
    session = await _shareable_session(user, session_id)
    links = ShareLink.objects.filter(session=session)
    await in_thread(sharing.revoke_links, links, await actor_of(request))
    live().list_news.publish(user.pk)
    return _dialog(request, None)


@require_GET
@login_required
async def shared_session(request: HttpRequest, token: str) -> StreamingHttpResponse:
    """Show a shared session as it is now, to every signed-in user who may use its app."""
    session, view = await shared_view_or_404(await request.auser(), token)
    return StreamingHttpResponse(stream_page(request, session, view, share_token=token), headers=NO_GUESS)


async def shared_view_or_404(user: User, token: str) -> tuple[Session, SessionView]:
    """Return the session of a share link as the user may read it.

    Raises:
        Http404: the user may read no session by this link.
    """
    try:
        session = await in_thread(sharing.shared_session, token, user.pk)
    except NotFoundError as error:
        raise Http404(str(error)) from error
    # Even staff see no details here: a link shares the conversation, not the arguments and results of its tools.
    reader = replace(Reader.of(user), shows_details=False)
    return session, SessionView(session.pk, session.app_name, reader)


async def _shareable_session(user: User, session_id: UUID) -> Session:
    session = await own_session_or_404(user, session_id)
    if not conf().share_links:
        raise Http404("This site has no shared conversations.")
    return session


def _dialog(request: HttpRequest, link: ShareLink | None) -> HttpResponse:
    address = ""
    if link:
        address = request.build_absolute_uri(reverse("chat:shared", args=[link.token]))
    html = render_to_string("chat/share.html", {"link": link, "address": address})
    return HttpResponse(html, headers=NO_GUESS)
