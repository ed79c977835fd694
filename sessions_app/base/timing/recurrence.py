"""Recurrences: a fixed interval or a crontab, on the wall clock of a time zone.

Days, weeks and crontabs follow the wall clock: they are computed with wall-clock times labelled as UTC, for arithmetic
without clock changes, and only the result is placed in the time zone. There a time may be skipped (the result moves
behind the change) or repeated (the first of the two moments counts).
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Protocol
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext

from sessions_app.base.timing.moments import Length, parse_length
from sessions_app.base.timing.wall_clock_crontab import WallClockCrontab
from sessions_app.errors import InvalidInputError

CRONTAB_FIELDS = 5
LONGEST_CLOCK_CHANGE = timedelta(hours=2)
"""How far before a moment the search begins: an occurrence in a skipped hour moves behind the clock change."""
SAMPLED_OCCURRENCES = 64
"""More than an hour has minutes, so the sample contains the shortest interval of a crontab."""


class Recurrence(Protocol):
    """Rule for the occurrences of a repeated task."""

    @property
    def text(self) -> str:
        """Stored form, which `parse_recurrence` accepts."""

    @property
    def words(self) -> str:
        """Description for users, in the active language."""

    @property
    def shortest(self) -> timedelta:
        """Shortest time between two occurrences."""

    def next_after(self, moment: datetime, start: datetime) -> datetime:
        """Return the first occurrence after `moment`; `start` is the first occurrence of all."""


@dataclass(frozen=True)
class Interval:
    """Fixed interval from the start. Days and weeks follow the calendar: 9:00 stays 9:00 across clock changes."""

    length: Length
    zone: ZoneInfo

    @property
    def text(self) -> str:
        return str(self.length)

    @property
    def words(self) -> str:
        return self.length.every

    @property
    def shortest(self) -> timedelta:
        return self.length.span

    def next_after(self, moment: datetime, start: datetime) -> datetime:
        if moment < start:
            return start
        # Counted from the start, not from the last run: a late run does not shift the later runs.
        if not self.length.is_calendar_based:
            # Compute in UTC: Python's arithmetic within a time zone ignores clock changes.
            utc_start = start.astimezone(UTC)
            return (
                utc_start + ((moment.astimezone(UTC) - utc_start) // self.length.span + 1) * self.length.span
            )
        first = _to_wall_clock(start, self.zone)
        number = (_to_wall_clock(moment, self.zone) - first) // self.length.span
        occurrence = moment
        while occurrence <= moment:
            occurrence = _from_wall_clock(first + number * self.length.span, self.zone)
            number += 1
        return occurrence


@dataclass(frozen=True)
class Crontab:
    """Crontab of five fields. It occurs once in a repeated hour. A skipped occurrence moves behind the clock change."""

    text: str
    zone: ZoneInfo

    @cached_property
    def _schedule(self) -> WallClockCrontab:
        return WallClockCrontab.parse(self.text)

    @property
    def words(self) -> str:
        words = self._schedule.words or gettext("by the crontab %(crontab)s") % {"crontab": self.text}
        # Readers in the same time zone read the times as their own.
        is_readers_zone = str(self.zone) == str(timezone.get_current_timezone())
        return words if is_readers_zone else f"{words} ({self.zone})"

    @property
    def shortest(self) -> timedelta:
        moments = [datetime(2026, 1, 1, tzinfo=UTC)]
        while len(moments) < SAMPLED_OCCURRENCES:
            moments.append(self._schedule.next_after(moments[-1]))
        # Without the first moment, which is the start of the sample and no occurrence.
        return min(later - earlier for earlier, later in pairwise(moments[1:]))

    def next_after(self, moment: datetime, start: datetime) -> datetime:
        if moment < start:
            return start
        wall = _to_wall_clock(moment - LONGEST_CLOCK_CHANGE, self.zone)
        occurrence = moment
        while occurrence <= moment:
            wall = self._schedule.next_after(wall)
            occurrence = _from_wall_clock(wall, self.zone)
        return occurrence


def parse_recurrence(text: str, zone: ZoneInfo) -> Recurrence:
    """Parse an interval such as `10 minutes` or `every day`, or a crontab such as `0 9 * * 1-5`.

    Raises:
        InvalidInputError: The text is neither; the message names the remedy.
    """
    normalized = " ".join(text.lower().split()).removeprefix("every ")
    length = parse_length(normalized)
    if length:
        return Interval(length, zone)
    if len(normalized.split()) != CRONTAB_FIELDS:
        raise InvalidInputError(
            f"{text!r} is not a valid interval. Write a number and a unit (minutes, hours, days, weeks), "
            "such as '10 minutes', or the five fields of a crontab: '0 9 * * 1-5' is every weekday at 9:00."
        )
    recurrence = Crontab(normalized, zone)
    try:
        _ = recurrence.shortest  # Also finds crontabs that never occur, such as February 30.
    except Exception as error:
        raise InvalidInputError(
            f"{text!r} is not a valid crontab: {str(error).rstrip('.')}. Its fields are minute (0-59), "
            "hour (0-23), day of the month (1-31), month (1-12) and day of the week (0-6, Sunday is 0), "
            "as in '0 9 * * 1-5'."
        ) from error
    return recurrence


def _to_wall_clock(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the wall-clock time of the zone, labelled as UTC."""
    return moment.astimezone(zone).replace(tzinfo=UTC, fold=0)


def _from_wall_clock(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment when the zone's clocks show `wall`. A skipped time moves by the clock change."""
    return wall.replace(tzinfo=zone).astimezone(UTC)
