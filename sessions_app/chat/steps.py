"""Steps of a workflow for the chat page, which reads them again when the workflow has gone on."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from runtime.valid_text import storable
from sessions_app.history.workflow_steps import load_steps
from sessions_app.process.threads import in_thread
from sessions_app.rendering.steps import CardMaker
from sessions_app.sessions.ownership import own_session_or_404


@require_GET
@login_required
async def steps(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the cards of the workflows of `?invocation=<id>` as an HTML fragment; empty without a workflow."""
    session = await own_session_or_404(await request.auser(), session_id)
    loaded = await in_thread(load_steps, session, storable(request.GET.get("invocation", "")))
    cards = CardMaker(session.app_name).cards(loaded)
    return HttpResponse("".join([render_to_string("chat/steps.html", {"card": card}) for card in cards]))
