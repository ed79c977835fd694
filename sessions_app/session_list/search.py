"""Search in the titles and texts of a person's sessions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from sessions_app.codec import storable
from sessions_app.history.rewinds import rewound_ranges
from sessions_app.models import Event, Session
from sessions_app.ownership import User
from sessions_app.session_list.listing import with_activity

MOST_RESULTS = 30
LONGEST_QUERY = 200
MOST_WORDS = 8
CHARACTERS_AROUND = 40
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Hit:
    """The first place in a text that matches: the word with what is around it."""

    before: str
    word: str
    after: str


def search_sessions(person: User, query: str) -> list[Session]:
    """Return the person's sessions, archived ones too, that contain all words of the query; latest use first.

    Words of a text are found by their beginnings, those of a title by any part. A session that is found by its text
    has the place as its `hit`.
    """
    query = " ".join(storable(query[:LONGEST_QUERY]).split())
    if not query:
        return []
    words = WORD.findall(query)[:MOST_WORDS]
    own = Session.objects.owned_by(person)
    matches = Q(pk__in=own.filter(_title_has(words or [query])).values("pk"))
    if words:
        # Without the user's sessions in this subquery PostgreSQL begins with the words, which the index finds.
        matches |= Q(pk__in=Event.objects.with_words(words).values("session"))
    found = list(with_activity(own.filter(matches)).newest_first()[:MOST_RESULTS])
    hits = _hits(found, words)
    return [session for session in found if _attach_hit(session, words or [query], hits.get(session.pk))]


def _title_has(words: Sequence[str]) -> Q:
    has_all = Q()
    for word in words:
        has_all &= Q(title__icontains=word)
    return has_all


def _attach_hit(session: Session, words: Sequence[str], text: str | None) -> bool:
    """Give the session its hit. False when only a text matched that a rewind has undone."""
    session.hit = _hit(text, words) if text else None  # type: ignore[attr-defined]
    return text is not None or all(word.casefold() in session.title.casefold() for word in words)


def _hits(sessions: Sequence[Session], words: Sequence[str]) -> dict[UUID, str]:
    """Return the newest matching text of each session that is still part of it."""
    if not words:
        return {}
    ids = [session.pk for session in sessions]
    found = Event.objects.with_words(words).filter(session__in=ids)
    rewinds = Event.objects.filter(session__in=ids).rewinds().order_by().values_list("session_id", flat=True)
    undone = {session_id: rewound_ranges(session_id) for session_id in rewinds.distinct()}
    seqs: defaultdict[UUID, int] = defaultdict(int)
    for session_id, seq in found.order_by().values_list("session_id", "seq"):
        if not any(seq in part for part in undone.get(session_id, ())):
            seqs[session_id] = max(seqs[session_id], seq)
    wanted = Q(pk__in=())
    for session_id, seq in seqs.items():
        wanted |= Q(session=session_id, seq=seq)
    return dict(Event.objects.filter(wanted).values_list("session_id", "text"))


def _hit(text: str, words: Sequence[str]) -> Hit:
    place = re.search("|".join(rf"(?<!\w){re.escape(word)}" for word in words), text, re.IGNORECASE)
    start, end = place.span() if place else (0, 0)
    before = text[max(0, start - CHARACTERS_AROUND) : start]
    after = text[end : end + 2 * CHARACTERS_AROUND]
    more = "…" if start > CHARACTERS_AROUND else ""
    return Hit(more + before.lstrip() if more else before, text[start:end], after)
