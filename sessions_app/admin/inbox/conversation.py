"""Last events of a conversation up to a call, as its person has read them. Their number and length are bounded."""

from __future__ import annotations

from dataclasses import replace

from django.utils.text import Truncator

from sessions_app.admin.session_page.person_view import SeenEvent, load_seen_events
from sessions_app.admin.stored_events import with_stored
from sessions_app.data_protection.transcripts.entries import Entry, Piece
from sessions_app.history.rewinds import find_rewinds, without_rewound
from sessions_app.models import Event, Session
from sessions_app.secrets.masking import mask_text

MAX_SHOWN_EVENTS = 12
PIECE_CHARACTERS = 2_000


def seen_before(session: Session, seq: int | None) -> list[SeenEvent]:
    """Return the last effective events up to `seq` as the person saw them, oldest first, in five queries at most.

    Args:
        session: the session.
        seq: number of the last event; None for the end of the log.
    """
    events = Event.objects.filter(session=session)
    if seq is not None:
        events = events.filter(seq__lte=seq)
    effective = without_rewound(events, find_rewinds(session.pk))
    newest = list(with_stored(effective.order_by("-seq"))[:MAX_SHOWN_EVENTS])
    seen = load_seen_events(session, newest[::-1])
    return [replace(one, entry=_cut(one.entry)) if one.entry else one for one in seen]


def _cut(entry: Entry) -> Entry:
    return replace(entry, pieces=[_cut_piece(piece) for piece in entry.pieces])


def _cut_piece(piece: Piece) -> Piece:
    return replace(piece, text=Truncator(mask_text(piece.text)).chars(PIECE_CHARACTERS))
