"""Export of a session by its owner: a Markdown or JSON file, or a page to print. All are streamed."""

import re
import unicodedata
from collections.abc import AsyncIterator
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from sessions_app.data_protection.transcripts.pages import stream_page
from sessions_app.data_protection.transcripts.stream import stream_json, stream_markdown
from sessions_app.models import Session
from sessions_app.rendering.session_view import SessionView
from sessions_app.sessions.ownership import own_session_or_404

NO_GUESS = {"X-Content-Type-Options": "nosniff"}
MAX_NAME_BYTES = 150
"""Bytes of a file name without its ending; file systems allow 255."""
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Unicode categories of control characters, such as NUL, line breaks and U+202E."""
_RESERVED = re.compile(r'[\\/:*?"<>|]')
"""Separators of folders, and characters not allowed in names on Windows."""


@require_GET
@login_required
async def as_markdown(request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """Return the chat as a Markdown file."""
    session, view = await _own_session(request, session_id)
    return _download(session, stream_markdown(session, view), "md", "text/markdown; charset=utf-8")


@require_GET
@login_required
async def as_json(request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """Return the events of the chat as a JSON file."""
    session, _ = await _own_session(request, session_id)
    return _download(session, stream_json(session), "json", "application/json")


@require_GET
@login_required
async def printable(request: HttpRequest, session_id: UUID) -> StreamingHttpResponse:
    """Return the chat as a page to print."""
    session, view = await _own_session(request, session_id)
    return StreamingHttpResponse(stream_page(request, session, view), headers=NO_GUESS)


def file_name(title: str, ending: str) -> str:
    """Return a file name for a title, of at most `MAX_NAME_BYTES` bytes and the ending.

    Control characters become spaces, reserved characters `_`.
    """
    visible = "".join(
        " " if unicodedata.category(character) in _INVISIBLE else character for character in title
    )
    words = " ".join(_RESERVED.sub("_", visible).split())
    short = words.encode()[:MAX_NAME_BYTES].decode(errors="ignore")  # the cut may split a character
    return f"{short.strip('. ') or 'Chat'}.{ending}"


async def _own_session(request: HttpRequest, session_id: UUID) -> tuple[Session, SessionView]:
    """Return the session with its `user` loaded, and the user's view of it."""
    user = await request.auser()
    session = await own_session_or_404(user, session_id)
    # The stream reads `session.user` on the event loop, where Django may not query for it.
    session.user = user  # type: ignore[assignment]  # a signed-in user
    return session, SessionView.of(session, user)


def _download(
    session: Session, content: AsyncIterator[str] | AsyncIterator[bytes], ending: str, content_type: str
) -> StreamingHttpResponse:
    disposition = content_disposition_header(True, file_name(session.title, ending))
    headers = {**NO_GUESS, "Content-Disposition": disposition or "attachment"}
    return StreamingHttpResponse(content, content_type=content_type, headers=headers)
