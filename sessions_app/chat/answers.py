"""Views behind the buttons under an answer: the text to copy, and the user's feedback."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from runtime.errors import AdkError
from runtime.events import Event
from sessions_app import use_cases
from sessions_app.base.codec import event_to_show
from sessions_app.chat.error_responses import error_response
from sessions_app.process.threads import in_thread
from sessions_app.sessions.ownership import own_session_or_404

TEXT = "text/plain; charset=utf-8"


@require_GET
@login_required
async def answer_text(request: HttpRequest, session_id: UUID, seq: int) -> HttpResponse:
    """Return the text of an event before any rendering, without thoughts."""
    session = await own_session_or_404(await request.auser(), session_id)
    row = await in_thread(session.events.filter(seq=seq).first)
    if row is None:
        raise Http404("There is no such answer in this conversation.")
    # The model wrote the text: a browser must not guess from it that it is HTML.
    headers = {"X-Content-Type-Options": "nosniff"}
    return HttpResponse(_text(event_to_show(row.body)), content_type=TEXT, headers=headers)


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


def _text(event: Event) -> str:
    if event.content is None:
        return ""
    return "".join(part.text or "" for part in event.content.parts or [] if not part.thought)
