"""Inbox of a user: the activity in all sessions, as a page and as a part of other pages.

Questions, jobs and scheduled tasks are rendered as in the chats, and answered by the same frames.
"""

import logging
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from sessions_app.base.codec import event_to_show
from sessions_app.models import AnswerRequest
from sessions_app.process.threads import in_thread
from sessions_app.rendering.blocks import Block, ConfirmationRequestBlock, blocks_of
from sessions_app.rendering.questions import (
    ChoiceBlock,
    CredentialRequestBlock,
    InputRequestBlock,
    RemoteQuestionBlock,
)
from sessions_app.rendering.session_view import Reader, SessionView
from sessions_app.sessions.list.activity import activity_of
from sessions_app.sessions.ownership import User

logger = logging.getLogger(__name__)
QUESTIONS = (
    ConfirmationRequestBlock,
    ChoiceBlock,
    CredentialRequestBlock,
    RemoteQuestionBlock,
    InputRequestBlock,
)


@require_GET
@login_required
async def activity_page(request: HttpRequest) -> HttpResponse:
    """Return the page of the user's activity."""
    return await _respond(request, "chat/activity_page.html")


@require_GET
@login_required
async def activity(request: HttpRequest) -> HttpResponse:
    """Return the activity: work that runs, waits for the user or is scheduled in the user's sessions."""
    return await _respond(request, "chat/activity.html")


async def _respond(request: HttpRequest, template: str) -> HttpResponse:
    user = await request.auser()
    # In a thread: the arguments of many calls may take long to render.
    return HttpResponse(await in_thread(_render, request, user, Reader.of(user), template))


def _render(request: HttpRequest, user: User, reader: Reader, template: str) -> str:
    with reader.reading():
        found = activity_of(user)
        context = {
            "person": user,
            "activity": found,
            "asked": [_question(row, reader) for row in found.asked],
            "for_staff": [_question(row, reader) for row in found.for_staff],
        }
        return render_to_string(template, context, request)


def _question(row: AnswerRequest, reader: Reader) -> dict[str, Any]:
    """Return a request for the template, with the block of its call; None for a job's question."""
    return {"request": row, "block": None if row.job else _block_of(row, reader)}


def _block_of(row: AnswerRequest, reader: Reader) -> Block | None:
    """Return the block of a request's call; None for a call without a form, which is answered in its chat."""
    view = SessionView(row.session_id, row.session.app_name, reader)
    try:
        event = event_to_show(vars(row)["call_event"])
        blocks = [block for block in blocks_of(view, event, {}) if isinstance(block, QUESTIONS)]
    except Exception:  # One odd event must not take down the page.
        logger.exception(
            "The call %r of session %s cannot be shown",
            row.call_id,
            row.session_id,
            extra={"session_id": str(row.session_id)},
        )
        return None
    return next((block for block in blocks if block.call_id == row.call_id), None)
