"""The last turns of a conversation before a call, as its person has read them, in bounds for one page."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from sessions_app.admin.session_page.event_rows import read_stored_or_none
from sessions_app.admin.stored_events import with_stored
from sessions_app.codec import event_to_show
from sessions_app.history.rewinds import find_rewinds, without_rewound
from sessions_app.masking import mask_text
from sessions_app.models import Event, Session
from sessions_app.rendering.session_view import SessionView
from sessions_app.transcripts.entries import Entry, EntryContext, Piece, entry_of

logger = logging.getLogger(__name__)
SHOWN_EVENTS = 12
PIECE_CHARACTERS = 2_000


def turns_before(session: Session, seq: int | None) -> list[Entry]:
    """Return the entries of the last events up to `seq`, oldest first; three queries."""
    events = Event.objects.filter(session=session)
    if seq is not None:
        events = events.filter(seq__lte=seq)
    effective = without_rewound(events, find_rewinds(session.pk))
    newest = list(with_stored(effective.order_by("-seq"))[:SHOWN_EVENTS])
    context = EntryContext(
        SessionView(session.pk, session.app_name), session.user.get_username(), jobs={}, answered=set()
    )
    return [entry for event in reversed(newest) for entry in _entries_of(event, context)]


def _entries_of(event: Event, context: EntryContext) -> Iterator[Entry]:
    stored = read_stored_or_none(event)
    try:
        if stored is None or not stored.is_parsed:
            raise ValueError("The event is too large for the page, or of an odd shape.")
        entry = entry_of(event_to_show(stored.body), context)
    except Exception:  # One odd event must not take down the page on which staff decide.
        logger.exception("Event %s of session %s is not shown beside a call", event.seq, event.session_id)
        notice = _("Event #%(seq)s cannot be shown here. See the page of the session.") % {"seq": event.seq}
        entry = Entry("", "quiet", event.happened_at or datetime.now(UTC), [Piece("note", notice)])
    if entry is not None:
        yield Entry(entry.author, entry.speaker, entry.at, [_cut(piece) for piece in entry.pieces])


def _cut(piece: Piece) -> Piece:
    return Piece(piece.kind, Truncator(mask_text(piece.text)).chars(PIECE_CHARACTERS), piece.label)
