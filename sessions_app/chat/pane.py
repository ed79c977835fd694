"""Pane beside the chat: a file, and the document that the pane shows in an iframe."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from sessions_app.asgi.artifact_files import artifact_response, find_artifact
from sessions_app.chat.iframes import SANDBOX, VIEWER, iframe_headers
from sessions_app.models import Artifact
from sessions_app.process.thread_pools import download_threads
from sessions_app.rendering.files import file_facts, file_link
from sessions_app.rendering.previews import KINDS, MAX_BYTES, Preview, preview_of
from sessions_app.sessions.ownership import own_session_or_404
from sessions_app.store.file_types import PDF

DOCUMENTS = {"text/html": ("text/html; charset=utf-8", SANDBOX), PDF: (PDF, VIEWER)}
"""Types of documents that are shown in an iframe, each with its content type and policy."""
SOURCE = "source"
NOT_CODE = ("", "txt", "log")
"""Extensions of text files without a language."""


@require_GET
@login_required
async def preview(request: HttpRequest, session_id: UUID, filename: str) -> HttpResponse:
    """Return a file as an HTML fragment: the version `?version=`, by default the newest; `?view=source` is its text."""
    session = await own_session_or_404(await request.auser(), session_id)
    row = await find_artifact(session, filename, request.GET.get("version", ""))
    html = await download_threads.run(_render, session.pk, row, request.GET.get("view", ""))
    return HttpResponse(html)


@require_GET
@login_required
async def document(request: HttpRequest, session_id: UUID, filename: str) -> HttpResponseBase:
    """Return the version `?version=` of an HTML file or PDF for an iframe of the pane."""
    session = await own_session_or_404(await request.auser(), session_id)
    row = await find_artifact(session, filename, request.GET.get("version", ""))
    if row.mime_type not in DOCUMENTS:
        raise Http404(f"The file {filename!r} is no page and no PDF.")
    content_type, policy = DOCUMENTS[row.mime_type]
    response = await artifact_response(request, row)
    shown_inline = {"Content-Disposition": "inline", "Content-Type": content_type, **iframe_headers(policy)}
    for name, value in shown_inline.items():
        response[name] = value
    return response


def _render(session_id: UUID, row: Artifact, view: str) -> str:
    link = file_link(session_id, row.filename, row.version)
    language = link.kind.lower()
    context = {
        "session_id": session_id,
        "file": link,
        "facts": file_facts(row, link),
        "preview": _read(row, is_source=view == SOURCE),
        "has_source": row.mime_type in KINDS,
        "view": view,
        "language": "" if language in NOT_CODE else language,
    }
    return render_to_string("chat/preview.html", context)


def _read(row: Artifact, *, is_source: bool) -> Preview | None:
    """Return the preview of the file; None if the storage does not have the file."""
    try:
        with row.file.open("rb") as stored:
            beginning = stored.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    return preview_of(row.mime_type or "text/plain", row.size, beginning, is_source=is_source)
