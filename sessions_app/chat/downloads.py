"""Downloads of a session's artifacts."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_GET

from sessions_app.asgi.artifact_files import artifact_response, find_artifact
from sessions_app.sessions.ownership import own_session_or_404


@require_GET
@login_required
async def artifact(request: HttpRequest, session_id: UUID, filename: str) -> HttpResponseBase:
    """Return the version `?version=` of an artifact, by default the newest."""
    session = await own_session_or_404(await request.auser(), session_id)
    return await artifact_response(
        request, await find_artifact(session, filename, request.GET.get("version", ""))
    )
