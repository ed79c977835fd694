"""Search in the titles and texts of a user's sessions.

Three queries find sessions: words anywhere in a title, and prefixes of words in texts, by a full-text index or, for
events of the last seconds, by reading them. A fourth query looks up the newest matching text of each session for its
`Hit`, without the texts of rewound events.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import Max, Q

from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Event, EventWords, Session
from sessions_app.models.event import CONFIG
from sessions_app.sessions.list.listing import SessionListPage, closed_apps_of, with_activity
from sessions_app.sessions.list.plain_text import plain_pieces
from sessions_app.sessions.ownership import User

MAX_RESULTS = 30
MAX_QUERY_LENGTH = 200
MAX_WORDS = 8
CHARACTERS_AROUND = 40
MARKDOWN_AROUND = 400
"""Characters of Markdown to read on each side of a word: its addresses may be long."""
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Hit:
    """First match in the text of the event `seq`: the word, with the plain text before and after it."""

    seq: int
    before: str
    word: str
    after: str


def search_sessions(person: User, query: str) -> SessionListPage:
    """Return the user's sessions with all words of the query, archived sessions included; latest use first.

    A query word matches the beginning of a word in a text, and any part of a title. Single letters are searched in
    titles only, and so are packed sessions. The attribute `hit` of a session is a `Hit` if its text matched, else None.
    """
    query = " ".join(storable(query[:MAX_QUERY_LENGTH]).split())
    if not query:
        return SessionListPage([], is_search=True)
    words = WORD.findall(query)[:MAX_WORDS]
    own = Session.objects.owned_by(person)
    matches = Q(pk__in=own.filter(_title_has(words or [query])).values("pk"))
    behind: list[UUID] = []
    # Nearly every text has a word that begins with a given letter.
    if prefixes := [word for word in words if _is_long_enough(word)]:
        texts = _text_has(prefixes)
        # Only the user's own: a common word is in the texts of most sessions of the site.
        matches |= Q(pk__in=EventWords.objects.filter(words=texts, session__in=own).values("session"))
        behind = list(own.without_words().values_list("pk", flat=True))
        not_indexed = Event.objects.without_words().filter(session__in=behind, words=texts)
        matches |= Q(pk__in=not_indexed.values("session"))
    found = list(with_activity(own.filter(matches)).newest_first()[: MAX_RESULTS + 1])
    is_cut = len(found) > MAX_RESULTS
    found = found[:MAX_RESULTS]
    hits = _hits(found, prefixes, behind)
    sessions = [session for session in found if _attach_hit(session, words or [query], hits.get(session.pk))]
    closed = closed_apps_of(person, sessions)
    has_packed = any(conf().by_app("pack_days").values()) and own.filter(packed_at__isnull=False).exists()
    return SessionListPage(sessions, is_search=True, is_cut=is_cut, has_packed=has_packed, closed_apps=closed)


def _is_long_enough(word: str) -> bool:
    """True for two or more characters, or a single character of a script without case."""
    # A Chinese character is a word.
    return len(word) > 1 or unicodedata.category(word) == "Lo"


def _title_has(words: Sequence[str]) -> Q:
    has_all = Q()
    for word in words:
        has_all &= Q(title__icontains=word)
    return has_all


def _text_has(prefixes: Sequence[str]) -> SearchQuery:
    """Return the query for events whose text has a word with each of the prefixes: letters and digits only."""
    return SearchQuery(" & ".join(f"{prefix}:*A" for prefix in prefixes), config=CONFIG, search_type="raw")


def _attach_hit(session: Session, words: Sequence[str], hit: Hit | None) -> bool:
    """Set `hit` of the session. Return False if the words match only in rewound texts."""
    session.hit = hit  # type: ignore[attr-defined]
    return hit is not None or all(word.casefold() in session.title.casefold() for word in words)


def _hits(sessions: Sequence[Session], prefixes: Sequence[str], behind: list[UUID]) -> dict[UUID, Hit]:
    """Return the hit of each session in its newest effective text that matches.

    Args:
        behind: the user's sessions with events whose words are not stored yet.
    """
    # PostgreSQL chooses the newest texts: a common word is in too many to load.
    if not prefixes:
        return {}
    ids = [session.pk for session in sessions]
    texts = _text_has(prefixes)
    indexed = EventWords.objects.filter(session__in=ids, words=texts).values("event")
    # The words of all events of a session are made before their `seq` is compared.
    behind = [pk for pk in ids if pk in behind]
    not_indexed = Event.objects.without_words().filter(session__in=behind, words=texts).values("pk")
    # A union: with an OR of two subqueries PostgreSQL would read the events of all sessions.
    found = Event.objects.filter(pk__in=indexed.union(not_indexed))
    rewinds = Event.objects.filter(session__in=ids).rewinds().order_by().values_list("session_id", flat=True)
    for session_id in rewinds.distinct():  # few sessions have rewinds; only these need the longer filter
        found = found.filter(~Q(session=session_id) | find_rewinds(session_id).in_effect)
    newest = found.order_by().values("session_id").annotate(newest=Max("seq"))
    wanted = Q(pk__in=())
    for session_id, seq in newest.values_list("session_id", "newest"):
        wanted |= Q(session=session_id, seq=seq)
    newest_texts = Event.objects.filter(wanted).values_list("session_id", "seq", "text")
    return {session_id: _hit(seq, text, prefixes) for session_id, seq, text in newest_texts}


def _hit(seq: int, text: str, prefixes: Sequence[str]) -> Hit:
    place = re.search("|".join(rf"(?<!\w){re.escape(prefix)}" for prefix in prefixes), text, re.IGNORECASE)
    start, end = place.span() if place else (0, 0)
    before, word, after = plain_pieces(
        text[max(0, start - MARKDOWN_AROUND) : start], text[start:end], text[end : end + MARKDOWN_AROUND]
    )
    if start > MARKDOWN_AROUND or len(before) > CHARACTERS_AROUND:
        before = "…" + before[-CHARACTERS_AROUND:].lstrip()
    return Hit(seq, before, word, after[: 2 * CHARACTERS_AROUND])
