"""The acts of all sources, newest first, page by page.

Each source is read backwards in slices of rows, by its primary key, which is the order in which rows were stored. The
slices are merged by time. The position of a page has the last key of each source, so no table needs an index by time,
and page 1,000 costs as much as page 1. A page ends when it is full or the time is over; then the next page
continues where each source was left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from heapq import merge
from itertools import accumulate
from operator import itemgetter
from time import monotonic

from django.db.models import Max, Min
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.admin.acts.answered_calls import AnswerSource
from sessions_app.admin.acts.sources import ROW_SOURCES, ActEntry, ActSource, Filters

ROWS = 50
SECONDS = 0.2
"""Time after which a page shows what it has found. The first slice of each source is always read."""
FIRST_SLICE, MAX_SLICE = 400, 1_600
NEWEST = 2**63 - 1
SOURCES: tuple[type[ActSource], ...] = (*ROW_SOURCES, AnswerSource)
"""In the order of the numbers in a page's position."""


@dataclass
class ActPage:
    """Acts of a page.

    Attributes:
        position: position of the next page; empty at the end.
        looked_back_to: time of the oldest act that was looked at, if the time was over before the page was full.
    """

    entries: list[ActEntry] = field(default_factory=list)
    position: str = ""
    looked_back_to: datetime | None = None


class _Reader:
    """Reads the acts of a source backwards.

    Attributes:
        key: the acts with this key and larger keys are on the page, or do not match; 0 at the end.
    """

    def __init__(self, source: ActSource, filters: Filters, key: int, end: float) -> None:
        self.source = source
        self.key = key
        self._filters = filters
        self._end = end
        self._stored = source.model._default_manager.exclude(**{source.time_field: None})

    def entries(self) -> "Iterator[tuple[datetime, _Reader, ActEntry | None]]":
        """Yield the matching acts with the time by which they are merged; None as the last if the time is over."""
        first = datetime.min.replace(tzinfo=UTC)
        if day := self._filters.day:
            first = _beginning_of(day)
            # The last day that Python knows has no next day.
            if day < timezone.localdate() and not self.source.is_stored_later:
                self.key = min(self.key, self._first_key_since(_beginning_of(day + timedelta(days=1))))
        size = FIRST_SLICE
        while self.key:
            older = self._stored.filter(pk__lt=self.key).order_by("-pk")
            bound = older.values_list("pk", flat=True)[size - 1 : size].first() or 0
            in_slice = {"pk__lt": self.key, "pk__gte": bound}
            time_field = self.source.time_field
            times = self._stored.filter(**in_slice).aggregate(oldest=Min(time_field), newest=Max(time_field))
            rows = self.source.rows(self._filters).filter(**in_slice).order_by("-pk")
            for at, entry in _merged_times(self.source.entries(rows)):
                if self._filters.match(entry):
                    yield at, self, entry
            self.key = bound
            if not bound or times["newest"] < first:
                self.key = 0
            elif monotonic() > self._end:
                yield times["oldest"], self, None
            size = min(2 * size, MAX_SLICE)

    def _first_key_since(self, moment: datetime) -> int:
        """Return the first key of a row stored since a moment, by bisection: times have no index."""
        newest = self._stored.order_by("-pk").values_list("pk", flat=True).first()
        low = 0
        high = (newest or 0) + 1
        while low < high:
            middle = (low + high) // 2
            row = self._stored.filter(pk__gte=middle).order_by("pk")
            at = row.values_list(self.source.time_field, flat=True).first()
            if at is None or at >= moment:
                high = middle
            else:
                low = middle + 1
        return low


def _merged_times(entries: Iterable[ActEntry]) -> Iterable[tuple[datetime, ActEntry]]:
    """Return the entries with times that never grow: an imported event is older than what was stored before it."""
    in_order = list(entries)
    times = list(accumulate((entry.stored_at or entry.at for entry in reversed(in_order)), max))
    return zip(reversed(times), in_order, strict=True)


def _beginning_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))


def load_acts(request: HttpRequest, filters: Filters, position: str) -> ActPage:
    """Return the acts after a position that match, within the rights and remits of the user.

    Raises:
        ValueError: the position is invalid.
    """
    keys = [NEWEST for _ in SOURCES]
    if position:
        keys = [min(int(key), NEWEST) for key in position.split("-")]
    end = monotonic() + SECONDS
    readers = [_Reader(source(request), filters, key, end) for source, key in zip(SOURCES, keys, strict=True)]
    for reader in readers:
        if not (reader.source.may_be_read() and filters.kind in ("", *reader.source.kinds)):
            reader.key = 0
    page = ActPage()
    found = merge(*[reader.entries() for reader in readers], key=itemgetter(0), reverse=True)
    for at, reader, entry in found:
        # The parts of an event have one key, and stand on one page.
        is_full = len(page.entries) >= ROWS and (entry is None or entry.key != reader.key)
        if entry is None or is_full:
            page.position = "-".join(str(reader.key) for reader in readers)
            if not is_full:
                page.looked_back_to = at
            return page
        page.entries.append(entry)
        reader.key = entry.key
    return page
