"""Search of staff in the rows of all sessions: texts and calls by whole words, everything else by exact values.

A list is searched in its own order, within its filters and the remit of the reader, in slices:

1. `Search.hits_among` looks at the first rows of the list. They are all rows of a narrow filter, and have enough
   matches of a common word.
2. If they are not enough, `Search.few_keys` asks the indexes for all rows that match. If these are few, only they are
   looked at from here on.
3. So it continues until the page is full, the list ends or the time is over. `search_list` returns the last row that it
   has looked at: the next page begins after this row.

Words of events are in an index some seconds after the append; younger events are read. Texts are masked before they are
compared, so nobody finds a masked secret.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from string import punctuation
from time import monotonic
from typing import Any, Self

from django.contrib.auth import get_user_model
from django.contrib.postgres.search import SearchQuery, SearchVectorField
from django.db.models import Func, Model, Q, QuerySet, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Left

from runtime.valid_text import storable
from sessions_app.base.codec import parse_uuid
from sessions_app.history.figures.event_words import events_without_words
from sessions_app.models import (
    Event,
    EventWords,
    Failure,
    Invocation,
    Session,
    StaffAccess,
    StaffAct,
    ToolJob,
)
from sessions_app.models.event import CONFIG, DETAILS, WordsOf
from sessions_app.models.session import OF_OWN_KEY, WITH_OWN_TITLE
from sessions_app.process.replica import reading_connection
from sessions_app.secrets.masking import mask_json, mask_text

MAX_FEW = 5_000
"""Largest number of matching rows to look up at once."""
SEARCH_SECONDS = 0.12
"""Time after which a page shows what it has found; the first slice is always searched."""
FIRST_SLICE: dict[type[Model], int] = {Session: 200}
"""Number of rows of the first slice; a slice after it has twice as many, up to `MAX_SLICE`."""
OTHER_FIRST_SLICE, MAX_SLICE = 800, 1_600
COMMON = 10
"""Matches in a slice that make a word common: an index would take long to return all rows with it."""
MAX_EVENTS_OF_SLICE = 4_000
"""Events of the sessions of a slice; a longer session is a slice alone."""
READ_CHARACTERS = 101_000
"""Characters of a text to mask: 1,000 more than are searched, for a secret that begins before the end."""
MAX_TERM_LENGTH = 200
START_OF_HIT, END_OF_HIT = "\ue000", "\ue001"
"""Marks around a hit in an excerpt, from the private area of Unicode."""
_WORD = re.compile(r"[^\W_]")
_PUNCTUATION = re.compile(r'\\(?:u[0-9a-f]{4}|.)|["{}\[\]]')
"""Escapes, quotes and brackets of JSON. They separate words."""
_NOTHING = Value("", output_field=TextField())
_OPTIONS = f"StartSel={START_OF_HIT}, StopSel={END_OF_HIT}, MaxWords=24, MinWords=12"
_ASCII_MARK = re.compile(f"[{re.escape(punctuation)}]")
"""A mark that separates words, as `adk_words` of the database separates them."""
_END_OF_MARK = "\x1f"
"""Separates the words of a text of which each mark is shown."""
_EXCERPTS = """\
SELECT place, ts_headline(%s::regconfig, given.text, words, %s)
FROM unnest(%s::text[]) WITH ORDINALITY AS given(text, place), plainto_tsquery(%s::regconfig, %s) AS words
WHERE adk_words(given.text) @@ words
"""


@dataclass(frozen=True)
class WordSource:
    """One way in which rows match.

    Attributes:
        rows: the rows that match, by an index unless `is_indexed` is False.
        key: look-up from such a row to the primary key of the row of the list.
        text: the text with the words; None for a match by an exact value.
        details: JSON values with the words, in addition to the text.
        read: the same rows, found by reading texts: an index takes long to return all rows with a common word. None for
            rows whose index is fast for any words.
        repeats: field by which several rows match for one row of the list, the largest first; empty if only one does.
        is_indexed: False if no index finds the rows, but only those of a slice can be read.
    """

    rows: QuerySet[Any]
    key: str = "pk"
    text: str | Combinable | None = None
    details: str | Combinable | None = None
    read: QuerySet[Any] | None = None
    repeats: str = ""
    is_indexed: bool = True

    def among(self, keys: Iterable[Any], *, first_only: bool) -> QuerySet[Any, Any]:
        """Return keys, texts and details of the matches among these rows of the list."""
        matching = self.rows if self.read is None else self.read
        rows = matching.filter(**{f"{self.key}__in": list(keys)}).order_by()
        if self.repeats and first_only:
            rows = rows.order_by(self.key, f"-{self.repeats}").distinct(self.key)
        return rows.values_list(self.key, self.text or _NOTHING, self.details or _NOTHING)


@dataclass(frozen=True)
class Search:
    """Search for a term in the rows of a model."""

    term: str
    sources: list[WordSource]
    first_slice: int

    @classmethod
    def of(cls, model: type[Model], term: str, *, with_causes: bool = False) -> Self | None:
        """Return the search for what a person has typed; None for nothing but spaces.

        Args:
            with_causes: also find sessions by exceptions of tools and their places in the agent's code.
        """
        term = cleaned(term)
        if not term:
            return None
        sources = _SOURCES[model](term)
        if with_causes and model is Session:
            sources.append(WordSource(_causes(term), "session_id", "cause", repeats="seq"))
        return cls(term, sources, FIRST_SLICE.get(model, OTHER_FIRST_SLICE))

    @property
    def has_words(self) -> bool:
        """False for a term without letters and digits, which no text is searched for."""
        return bool(_WORD.search(self.term))

    def few_keys(self) -> set[Any] | None:
        """Return the primary keys of all rows that match; None if more than `MAX_FEW` are found, or some cannot be."""
        if not all(source.is_indexed for source in self.sources):
            return None
        found = [source.rows.order_by().values_list(source.key)[: MAX_FEW + 1] for source in self.sources]
        # With duplicates: a look-up that has reached its limit is not complete, however few rows its matches are of.
        keys = [key for (key,) in _union(found)]
        return set(keys) if len(keys) <= MAX_FEW else None

    def hits_among(self, keys: Sequence[Any], *, first_only: bool = True) -> dict[Any, str]:
        """Return the masked text with the words by row; empty for a row that matches by another value."""
        if not keys:
            return {}
        found = [source.among(keys, first_only=first_only) for source in self.sources]
        hits: dict[Any, str] = {}
        changed: list[tuple[Any, str]] = []
        for key, text, details in _union(found):
            stored = f"{text} {_PUNCTUATION.sub(' ', details)}"
            masked = f"{mask_text(text)} {_PUNCTUATION.sub(' ', mask_json(details))}"
            if masked == stored:
                hits[key] = hits.get(key) or stored.strip()
            else:
                changed.append((key, masked))
        # The words may have been in the secret alone.
        for place in excerpts_of([text for _, text in changed], self.term):
            key, text = changed[place]
            hits.setdefault(key, text)
        # An older text of the session may have the words outside of its secrets.
        hidden = {key for key, _ in changed} - hits.keys()
        if hidden and first_only:
            hits |= self.hits_among(list(hidden), first_only=False)
        return hits


def _union(found: Sequence[QuerySet[Any, Any]]) -> QuerySet[Any, Any]:
    """Return the rows of all these queries, with duplicates."""
    first, *rest = found
    if not rest:
        return first  # A slice cannot be sorted.
    # Django 6.1 sorts a union by the model's ordering, whose column is not selected.
    return first.union(*rest, all=True).order_by()


@dataclass
class SearchedRows:
    """Rows of a page.

    Attributes:
        texts: the masked text with the words, by primary key.
        last: the last row of the list that was looked at; None if all rows to the end of the list were.
    """

    texts: dict[Any, str] = field(default_factory=dict)
    last: Any = None


def cleaned(term: str) -> str:
    """Return the term as PostgreSQL can store it, cut, and without spaces around it."""
    return storable(term[:MAX_TERM_LENGTH]).strip()


def search_list(
    search: Search, next_rows: Callable[[Any, int, set[Any] | None], Sequence[Any]], count: int
) -> SearchedRows:
    """Search a list slice by slice, until `count` rows match or the time is over.

    Args:
        search: the search.
        next_rows: return at most a number of rows of the list, each with its `id`, after a row. None is before the
            first row. With a set, only rows with these primary keys.
        count: number of rows on the page.
    """
    end = monotonic() + SEARCH_SECONDS
    found = SearchedRows()
    keys = None
    is_index_asked = False
    size = search.first_slice
    while True:
        rows = next_rows(found.last, size, keys)
        looked_at = _within_bounds(rows)
        is_end = len(rows) < size and len(looked_at) == len(rows)
        hits = search.hits_among([row.id for row in looked_at])
        for row in looked_at:
            if row.id in hits:
                found.texts[row.id] = hits[row.id]
            found.last = row
            if len(found.texts) == count and row != rows[-1]:
                return found
        if is_end:
            found.last = None
        if is_end or len(found.texts) == count:
            return found
        is_rare = False
        if len(hits) < COMMON and not is_index_asked:
            keys = search.few_keys()
            is_index_asked = True
            is_rare = keys is not None
        # A rare word is found in one more slice, even if the time is over: then the search is complete.
        if monotonic() > end and not is_rare:
            return found
        size = min(2 * size, MAX_SLICE)


def _within_bounds(rows: Sequence[Any]) -> Sequence[Any]:
    """Return the first rows, of sessions with up to `MAX_EVENTS_OF_SLICE` events together; at least one row."""
    events = 0
    for number, row in enumerate(rows):
        events += getattr(row, "last_seq", 0)
        if number and events > MAX_EVENTS_OF_SLICE:
            return rows[:number]
    return rows


def excerpts_of(texts: Sequence[str], term: str) -> dict[int, str]:
    """Return an excerpt with marked hits of each text that has the words of the term, by its place."""
    if not texts:
        return {}
    separated = [_ASCII_MARK.sub(rf"\g<0>{_END_OF_MARK}", text) for text in texts]
    with reading_connection().cursor() as cursor:
        cursor.execute(_EXCERPTS, [CONFIG, _OPTIONS, separated, CONFIG, _ASCII_MARK.sub(" ", term)])
        return {place - 1: excerpt.replace(_END_OF_MARK, "") for place, excerpt in cursor.fetchall()}


def sessions_named(term: str) -> Q:
    """Return a filter for rows of sessions with the term in their title, or as id or key of one of their rows."""
    found = Q()
    for source in _named_sessions(term):
        found |= Q(session__in=source.rows.order_by().values(source.key))
    return found


def _session_sources(term: str) -> list[WordSource]:
    named = {f"user__{get_user_model().USERNAME_FIELD}": term}
    return [
        *_events_with_words(term, "session_id"),
        WordSource(_invocation_errors(term), "session_id", "error_message", repeats="id"),
        WordSource(_job_errors(term), "session_id", "error", repeats="created_at"),
        *_named_sessions(term),
        WordSource(Session.objects.filter(**named)),
        WordSource(Event.objects.filter(event_id=term), "session_id"),
    ]


def _event_sources(term: str) -> list[WordSource]:
    # Events have an index by session, and none by invocation: the row of the invocation leads to the session.
    sessions = Invocation.objects.filter(invocation_id=term).values("session")
    return [
        *_events_with_words(term, "pk"),
        WordSource(Event.objects.filter(event_id=term)),
        WordSource(Event.objects.filter(session__in=sessions, invocation_id=term)),
    ]


def _invocation_sources(term: str) -> list[WordSource]:
    return [
        WordSource(_invocation_errors(term), text="error_message"),
        WordSource(Invocation.objects.filter(invocation_id=term)),
        WordSource(Invocation.objects.filter(client_id=term)),
        *_rows_of_named_sessions(Invocation.objects.all(), term),
    ]


def _job_sources(term: str) -> list[WordSource]:
    return [
        WordSource(_job_errors(term), text="error"),
        WordSource(ToolJob.objects.filter(call_id=term)),
        WordSource(ToolJob.objects.filter(invocation_id=term)),
        WordSource(ToolJob.objects.filter(tool_name=term)),
        *_rows_of_named_sessions(ToolJob.objects.all(), term),
    ]


def _staff_record_sources(model: type[StaffAccess | StaffAct], term: str) -> list[WordSource]:
    rows: QuerySet[Any] = model._default_manager.all()
    sources = [
        WordSource(rows.filter(actor_name__istartswith=term)),
        WordSource(rows.filter(subject_id=term)),
    ]
    # PostgreSQL would refuse to compare an address with any other text.
    with suppress(ValueError):
        sources.append(WordSource(rows.filter(address=str(ip_address(term)))))
    return sources


def _named_sessions(term: str) -> list[WordSource]:
    titled = Session.objects.filter(WITH_OWN_TITLE)
    sources = [
        WordSource(_with_words(titled, "title", term), text="title"),
        WordSource(Session.objects.filter(OF_OWN_KEY, key=term)),
        WordSource(Invocation.objects.filter(invocation_id=term), "session_id"),
        WordSource(Invocation.objects.filter(client_id=term), "session_id"),
        WordSource(ToolJob.objects.filter(call_id=term), "session_id"),
    ]
    if pk := parse_uuid(term):
        sources.append(WordSource(Session.objects.filter(pk=pk)))
    return sources


def _rows_of_named_sessions(rows: QuerySet[Any], term: str) -> list[WordSource]:
    sources = []
    for named in _named_sessions(term):
        # A session found by its title has the words there; any other is found by an exact value.
        text = "session__title" if named.text else None
        of_sessions = rows.filter(session__in=named.rows.order_by().values(named.key))
        sources.append(WordSource(of_sessions, text=text))
    return sources


def _events_with_words(term: str, key: str) -> list[WordSource]:
    """Return the sources of events with the words in their texts or details: those in the index, and those after it."""
    indexed = EventWords.objects.filter(words=_words(term))
    # PostgreSQL does not use the index for the result of a function.
    stripped = Func("words", function="strip", output_field=SearchVectorField())
    read = EventWords.objects.annotate(read=stripped).filter(read=_words(term))
    newest = Event.objects.without_words().filter(words=_words(term))
    keys = events_without_words(MAX_EVENTS_OF_SLICE)
    if keys is not None:
        newest = newest.filter(pk__in=keys)
    return [
        WordSource(indexed, key, _text("event__text"), "details", read, "event_id"),
        WordSource(newest, key, _text("text"), DETAILS, None, "seq", is_indexed=keys is not None),
    ]


def _invocation_errors(term: str) -> QuerySet[Any]:
    return _with_words(Invocation.objects.exclude(error_message=""), "error_message", term)


def _job_errors(term: str) -> QuerySet[Any]:
    return _with_words(ToolJob.objects.exclude(error=""), "error", term)


def _causes(term: str) -> QuerySet[Any]:
    """Return failures of tools and models as of some seconds ago."""
    return _with_words(Failure.objects.all(), "cause", term)


def _with_words(rows: QuerySet[Any], column: str, term: str) -> QuerySet[Any]:
    found: QuerySet[Any] = rows.annotate(words=WordsOf(column)).filter(words=_words(term))
    return found


def _words(term: str) -> SearchQuery:
    """Return the query for texts with all words of the term."""
    return SearchQuery(_ASCII_MARK.sub(" ", term), config=CONFIG, search_type="plain")


def _text(path: str) -> Combinable:
    return Coalesce(Left(path, READ_CHARACTERS), _NOTHING, output_field=TextField())


_SOURCES: Mapping[type[Model], Callable[[str], list[WordSource]]] = {
    Session: _session_sources,
    Event: _event_sources,
    Invocation: _invocation_sources,
    ToolJob: _job_sources,
    StaffAccess: partial(_staff_record_sources, StaffAccess),
    StaffAct: partial(_staff_record_sources, StaffAct),
}
