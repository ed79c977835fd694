"""Spans of a session."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from sessions_app.api.access.callers import caller_of
from sessions_app.api.adk.names import session_of
from sessions_app.errors import NotFoundError
from sessions_app.history.telemetry.span_json import spans_of_session
from sessions_app.models import Scope
from sessions_app.process.threads import in_thread

router = Router(tags=["debug"])


@router.get("/dev/apps/{app_name}/debug/trace/session/{session_id}", response=list[dict[str, Any]])
async def session_trace(request: HttpRequest, app_name: str, session_id: str) -> list[dict[str, Any]]:
    """Return the spans of a session of the caller's own person; none for the session of another person."""
    # The address of google-adk's server names no user, so only the caller's own sessions are found.
    own = str(caller_of(request).user.pk)
    try:
        session = await session_of(request, Scope.READ, app_name, own, session_id)
    except NotFoundError:
        return []
    return await in_thread(spans_of_session, session)
