"""Transcripts as HTML pages without scripts: for the owner to print, for readers of a shared session, and as a record.

A record of a conversation is a self-contained file to keep, print and compare by its hash.
"""

import hashlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from sessions_app.data_protection.transcripts.entries import Entry
from sessions_app.data_protection.transcripts.stream import stream_entries
from sessions_app.history.evidence.integrity import flaw_in, last_hash
from sessions_app.models import Session
from sessions_app.process import threads
from sessions_app.rendering.hidden_characters import show_hidden_characters
from sessions_app.rendering.session_view import SessionView
from sessions_app.secrets.masking import mask_html
from sessions_app.sessions.ownership import User

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


def write_record(session: Session, reader: User, folder: Path, *, only: int = 0) -> tuple[Path, str]:
    """Write the conversation as the reader sees it, or its event with the number `only`.

    Return the path and the SHA-256 of the file.

    The name of the file has its SHA-256. The head of the page has the hash of the last event, which
    `manage.py adk_verify` computes again, and says if the log is unchanged.
    """
    view = SessionView.of(session, reader)
    context = {
        "session": session,
        "only": only,
        "made_at": timezone.localtime(),
        "log_hash": last_hash(session.pk),
        "flaw": flaw_in(session.pk),
        "entries": PLACE_OF_ENTRIES,
    }
    head, _, tail = render_to_string("admin/sessions_app/session/record.html", context).partition(
        PLACE_OF_ENTRIES
    )
    unfinished = folder / "record.html"
    with unfinished.open("w", encoding="utf-8", errors="replace") as file:
        file.write(_mask_and_escape(head))
        threads.run(_write_entries(session, view, file.write, only))
        file.write(tail)
    with unfinished.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return unfinished.rename(folder / f"conversation-{session.pk}-sha256-{sha256}.html"), sha256


async def _write_entries(
    session: Session, view: SessionView, write: Callable[[str], object], only: int
) -> None:
    async for entries in stream_entries(session, view, _html_of, with_undone=True, only=only):
        write(_mask_and_escape(entries))


def _html_of(entry: Entry) -> SafeString:
    return render_to_string("admin/sessions_app/session/_transcript_entry.html", {"entry": entry})


def _mask_and_escape(html: str) -> str:
    return show_hidden_characters(mask_html(html))
