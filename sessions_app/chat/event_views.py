"""Views of single events: the text of an answer to copy, suggestions of the search engine, feedback, causes of errors.

The cause is neither in an event nor in its HTML: readers share both, and exports and caches keep them. The page asks
for the cause when its reader, a developer or staff, opens it.
"""

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from runtime.errors import AdkError
from runtime.events import Event as RuntimeEvent
from runtime.valid_text import storable
from sessions_app import use_cases
from sessions_app.base.codec import event_to_show
from sessions_app.chat.pane import SANDBOX, iframe_headers
from sessions_app.chat.requests import error_response, has_rights
from sessions_app.conf import conf
from sessions_app.history.event_marks import writer_of
from sessions_app.models import Session
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sources import sources_of
from sessions_app.secrets.error_detail import cause_in
from sessions_app.sessions.ownership import User, own_session_or_404

TEXT = "text/plain; charset=utf-8"
SUGGESTIONS_HEAD = (
    '<!DOCTYPE html><meta charset="utf-8"><title>{title}</title>'
    '<meta name="color-scheme" content="light dark"><base target="_blank">\n'
)


@require_GET
@login_required
async def answer_text(request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
    """Return the text of an event before any rendering, without thoughts."""
    event = await _own_event(request, session_id, seq)
    # The model wrote the text: a browser must not guess from it that it is HTML.
    headers = {"X-Content-Type-Options": "nosniff"}
    return HttpResponse(_text(event), content_type=TEXT, headers=headers)


@require_GET
@login_required
async def suggestions(request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
    """Return the suggestions of the search engine for an answer as a page for an iframe.

    Google's terms require that its suggestions are shown as they were delivered.
    """
    html = sources_of(await _own_event(request, session_id, seq)).suggestions
    if not html:
        raise Http404("This answer has no search suggestions.")
    head = format_html(SUGGESTIONS_HEAD, title=gettext("Search suggestions"))
    return HttpResponse(head + storable(html), headers=iframe_headers(SANDBOX))


@require_POST
@login_required
async def feedback(request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
    """Store the user's `rating` and `comment` on an event. Without a rating, withdraw the feedback."""
    user = await request.auser()
    rating = request.POST.get("rating", "")
    comment = request.POST.get("comment", "")
    try:
        await use_cases.give_feedback(user, session_id, seq, rating, comment)
    except AdkError as error:
        return error_response(error)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


async def _own_event(request: HttpRequest, session_id: UUID, seq: int) -> RuntimeEvent:
    session = await own_session_or_404(await request.auser(), session_id)
    row = await in_thread(session.events.filter(seq=seq).first)
    if row is None:
        raise Http404("There is no such answer in this chat.")
    return event_to_show(row.body)


def _text(event: RuntimeEvent) -> str:
    if event.content is None:
        return ""
    return "".join(part.text or "" for part in event.content.parts or [] if not part.thought)


async def may_see_causes(user: User) -> bool:
    """Return True for every user of a development site, and for staff with the permission `view_error_detail`."""
    return conf().reload_agents or await has_rights(user, "sessions_app.view_error_detail")


@require_GET
@login_required
async def cause(request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
    """Return the exception behind the error of an event, and its places in the agent's code, as an HTML fragment."""
    user = await request.auser()
    session = await own_session_or_404(user, session_id)
    if not await may_see_causes(user):
        raise PermissionDenied
    detail = await in_thread(_detail_of, session, seq)
    return render(request, "chat/cause.html", {"cause": cause_in(detail) if detail else None})


def _detail_of(session: Session, seq: int) -> str:
    """Return the detail of the event's invocation; empty for an error that is not the end of its last attempt."""
    row = session.events.filter(seq=seq).first()
    if row is None:
        raise Http404("There is no such event in this chat.")
    event = event_to_show(row.body)
    # The row of an invocation tells about its last attempt: events after an error belong to a later attempt.
    is_last = not session.events.filter(invocation_id=event.invocation_id, seq__gt=seq).exists()
    if not event.error_code or not is_last:
        return ""
    written = session.invocations.filter(invocation_id=writer_of(event.invocation_id, event.custom_metadata))
    return written.values_list("error_detail", flat=True).first() or ""
