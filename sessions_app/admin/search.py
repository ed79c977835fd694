"""Search over all sessions: texts by whole words, and everything else by exact look-ups in an index.

Each look-up is bounded (`MAX_FOUND`) and has an index, and a search joins them with UNION: a query with OR over
several tables would not use their indexes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.postgres.search import SearchHeadline, SearchQuery, SearchVector
from django.db.models import QuerySet, Value
from django.db.models.functions import Left
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from runtime.valid_text import storable
from sessions_app.base.codec import parse_uuid
from sessions_app.models import Event, Invocation, Session, ToolJob
from sessions_app.models.event import CONFIG, SEARCHED_CHARACTERS
from sessions_app.models.session import OF_OWN_KEY, WITH_OWN_TITLE
from sessions_app.secrets.masking import mask_text

MAX_FOUND = 1_000
"""Largest number of rows of each look-up, the newest first."""
NEWEST_EVENTS, RECENT_EVENTS = 2_000, 10_000
"""Numbers of events to search before all others: the newest without the index, then the recent with the index."""
COMMON = 100
"""Number of matches among these events that makes a word common. Older events are not searched for a common word."""
MAX_TERM_LENGTH = 200
_START, _STOP = "\ue000", "\ue001"
"""Marks around a hit in an excerpt, from the private area of Unicode."""
_MARKED = re.compile(f"{_START}([^{_START}{_STOP}]*){_STOP}")


def cleaned(term: str) -> str:
    """Return the term without characters refused by PostgreSQL; empty if nothing remains."""
    return storable(term[:MAX_TERM_LENGTH]).strip()


def words_of(term: str) -> SearchQuery:
    """Return the query for texts with all words of the term."""
    return SearchQuery(term, config=CONFIG, search_type="plain")


@dataclass(frozen=True)
class FoundSessions:
    """Result of a search for sessions.

    Attributes:
        newest_texts: primary key of the newest event with the words, by session.
    """

    ids: set[UUID]
    newest_texts: dict[UUID, int]

    def hits_in(self, sessions: Iterable[Session], term: str) -> dict[UUID, SafeString]:
        """Return the excerpt with the hit in the newest matching text by session. Sessions without a hit are absent."""
        texts = {session.pk: self.newest_texts.get(session.pk) for session in sessions}
        hits = hits_in(filter(None, texts.values()), term)
        return {session_id: hits[pk] for session_id, pk in texts.items() if pk in hits}


def find_sessions(term: str) -> FoundSessions:
    """Return sessions with the term in a text or title, and sessions with the term as id, key or name of the user."""
    named = {f"user__{get_user_model().USERNAME_FIELD}": term}
    parts = [
        *_named_sessions(term),
        _newest(Session.objects.filter(**named), "-updated_at"),
        _newest(Event.objects.filter(event_id=term), "-pk", "session_id"),
    ]
    newest_texts: dict[UUID, int] = {}
    for session_id, pk in _events_with(term):
        newest_texts.setdefault(session_id, pk)
    return FoundSessions(_union(parts) | set(newest_texts), newest_texts)


def find_events(term: str) -> set[int]:
    """Return events with the term in their text, and events with the term as id of the event or invocation."""
    # Events have an index by session, and none by invocation: the row of the invocation leads to the session.
    sessions = Invocation.objects.filter(invocation_id=term).values("session")
    parts = [
        _newest(Event.objects.filter(event_id=term), "-pk"),
        _newest(Event.objects.filter(session__in=sessions, invocation_id=term), "-pk"),
    ]
    return _union(parts) | {pk for _, pk in _events_with(term)}


def find_invocations(term: str) -> set[int]:
    """Return invocations with this id or client id, in a session that matches, or with the term in their error."""
    errors = Invocation.objects.exclude(error_message="").annotate(words=_vector("error_message"))
    invocations = [
        Invocation.objects.filter(invocation_id=term),
        Invocation.objects.filter(client_id=term),
        errors.filter(words=words_of(term)),
        Invocation.objects.filter(session__in=sessions_named(term)),
    ]
    return _union(_newest(part, "-pk") for part in invocations)


def find_jobs(term: str) -> set[UUID]:
    """Return jobs with this call, invocation or tool, in a session that matches, or with the term in their error."""
    errors = ToolJob.objects.exclude(error="").annotate(words=_vector("error"))
    jobs = [
        ToolJob.objects.filter(call_id=term),
        ToolJob.objects.filter(invocation_id=term),
        ToolJob.objects.filter(tool_name=term),
        errors.filter(words=words_of(term)),
        ToolJob.objects.filter(session__in=sessions_named(term)),
    ]
    return _union(_newest(part, "-created_at") for part in jobs)


def hits_in(event_ids: Iterable[int], term: str) -> dict[int, SafeString]:
    """Return an excerpt of the text of each event, with the words of the term marked."""
    headline = SearchHeadline(
        Left("text", SEARCHED_CHARACTERS),
        words_of(term),
        config=CONFIG,
        start_sel=_START,
        stop_sel=_STOP,
        max_words=24,
        min_words=12,
    )
    texts = Event.objects.filter(pk__in=list(event_ids), text__isnull=False)
    return {pk: _mark_hit(text) for pk, text in texts.values_list("pk", headline)}


def _mark_hit(headline: str) -> SafeString:
    plain = _MARKED.sub(r"\1", headline)
    masked = mask_text(plain)
    if masked != plain:
        return escape(masked)  # without marks: the hit may be the secret
    return mark_safe(_MARKED.sub(r"<mark>\1</mark>", escape(headline)))  # noqa: S308 (escaped)


def _events_with(term: str) -> list[tuple[UUID, int]]:
    """Return session and primary key of the newest events with the words."""
    # Recent events first: they have enough matches of a common word, for which a search of all events takes seconds.
    # The newest without the index, in which a very common word has too many entries.
    newest = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    # The empty text makes another expression than the expression of the index.
    without_index = SearchVector(Left("text", SEARCHED_CHARACTERS), Value(""), config=CONFIG)
    words = words_of(term)
    events = Event.objects.filter(text__isnull=False).order_by("-pk")
    found = events.with_text(words)
    unindexed = events.annotate(words=without_index).filter(words=words)
    for rows in (
        unindexed.filter(pk__gt=newest - NEWEST_EVENTS),
        found.filter(pk__gt=newest - RECENT_EVENTS),
    ):
        recent = list(rows.values_list("session_id", "pk")[:MAX_FOUND])
        if len(recent) >= COMMON:
            return recent
    return list(found.values_list("session_id", "pk")[:MAX_FOUND])


def _named_sessions(term: str) -> list[QuerySet[Session, Any]]:
    titled = Session.objects.filter(WITH_OWN_TITLE).annotate(words=_vector("title"))
    parts = [
        _newest(titled.filter(words=words_of(term)), "-updated_at"),
        _newest(Session.objects.filter(OF_OWN_KEY, key=term), "-updated_at"),
        _newest(Invocation.objects.filter(invocation_id=term), "-pk", "session_id"),
        _newest(Invocation.objects.filter(client_id=term), "-pk", "session_id"),
        _newest(ToolJob.objects.filter(call_id=term), "-created_at", "session_id"),
    ]
    if pk := parse_uuid(term):
        parts.append(_newest(Session.objects.filter(pk=pk), "-updated_at"))
    return parts


def sessions_named(term: str) -> set[UUID]:
    """Return sessions with the term in their title, and sessions with the term as id or key of one of their rows."""
    return _union(_named_sessions(term))


def _vector(column: str) -> SearchVector:
    return SearchVector(column, config=CONFIG)


def _newest(rows: QuerySet[Any], order: str, column: str = "pk") -> QuerySet[Any, Any]:
    return rows.order_by(order).values_list(column)[:MAX_FOUND]


def _union(parts: Iterable[QuerySet[Any, Any]]) -> set[Any]:
    first, *rest = parts
    # Django 6.1 sorts a union by the model's ordering, whose column is not selected.
    return {key for (key,) in first.union(*rest).order_by()}
