"""Views of what is under an answer: its text to copy, suggestions of the search engine, and the user's feedback."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from runtime.errors import AdkError
from runtime.events import Event
from runtime.valid_text import storable
from sessions_app import use_cases
from sessions_app.base.codec import event_to_show
from sessions_app.chat.error_responses import error_response
from sessions_app.chat.iframes import SANDBOX, iframe_headers
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sources import sources_of
from sessions_app.sessions.ownership import own_session_or_404

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


async def _own_event(request: HttpRequest, session_id: UUID, seq: int) -> Event:
    session = await own_session_or_404(await request.auser(), session_id)
    row = await in_thread(session.events.filter(seq=seq).first)
    if row is None:
        raise Http404("There is no such answer in this chat.")
    return event_to_show(row.body)


def _text(event: Event) -> str:
    if event.content is None:
        return ""
    return "".join(part.text or "" for part in event.content.parts or [] if not part.thought)
