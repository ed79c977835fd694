"""Transcript as an HTML page without scripts: for the owner to print, and for readers of a shared session."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from sessions_app.data_protection.transcripts.entries import Entry
from sessions_app.data_protection.transcripts.stream import stream_entries
from sessions_app.models import Session
from sessions_app.rendering.session_view import SessionView

PLACE_OF_ENTRIES = mark_safe("<!--entries-->")
"""Marker of the place of the entries, at which the page is split. No text contains the marker: templates escape `<`."""


async def stream_page(
    request: HttpRequest, session: Session, view: SessionView, *, share_token: str = ""
) -> AsyncIterator[str]:
    """Yield the page.

    Args:
        session: with its user.
        share_token: token of the share link, for readers other than the owner. They see the pictures in answers, and
            the names of all other files.
    """
    context = {"session": session, "is_shared": bool(share_token), "entries": PLACE_OF_ENTRIES}
    head, _, tail = render_to_string("chat/transcript.html", context, request).partition(PLACE_OF_ENTRIES)
    yield head
    write = partial(_write_html, share_token=share_token)
    async for entries in stream_entries(session, view, write):
        yield entries
    yield tail


def _write_html(entry: Entry, *, share_token: str) -> str:
    context: dict[str, Any] = {"entry": entry, "has_pictures": not share_token, "share_token": share_token}
    return render_to_string("chat/transcript_entry.html", context)
