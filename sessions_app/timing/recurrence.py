"""What happens again and again: every so often, or by a crontab, on the clocks of a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Protocol
from zoneinfo import ZoneInfo

from sessions_app.errors import InvalidInputError
from sessions_app.timing.moments import Length, parse_length
from sessions_app.timing.wall_clock_crontab import WallClockCrontab

FIELDS_OF_CRONTAB = 5
LONGEST_JUMP = timedelta(hours=2)
"""Of clocks that are changed: what they have skipped may still be to come."""
LOOKED_AT = 64
"""More occurrences than there are minutes in an hour: the shortest time between two of a crontab is among them."""


class Recurrence(Protocol):
    """How something repeats."""

    @property
    def text(self) -> str:
        """As it is stored; `parse_recurrence` reads it."""

    @property
    def words(self) -> str:
        """As a person reads it."""

    @property
    def shortest(self) -> timedelta:
        """The shortest time between two occurrences."""

    def next_after(self, moment: datetime, start: datetime) -> datetime:
        """The first occurrence after a moment, however many lie between; `start` is the first of all."""


@dataclass(frozen=True)
class Interval:
    """Every so often from the start on. Days and weeks are the calendar's: 9:00 stays 9:00 when clocks change."""

    length: Length
    zone: ZoneInfo

    @property
    def text(self) -> str:
        return str(self.length)

    @property
    def words(self) -> str:
        return f"every {self.length}"

    @property
    def shortest(self) -> timedelta:
        return self.length.span

    def next_after(self, moment: datetime, start: datetime) -> datetime:
        if moment < start:
            return start
        if not self.length.is_of_days:
            # In UTC, where an hour is an hour: in a zone Python reckons with what its clocks show.
            begun = start.astimezone(UTC)
            return begun + ((moment.astimezone(UTC) - begun) // self.length.span + 1) * self.length.span
        first = _wall_clock(start, self.zone)
        number = (_wall_clock(moment, self.zone) - first) // self.length.span
        while (found := _on_clocks(first + number * self.length.span, self.zone)) <= moment:
            number += 1
        return found


@dataclass(frozen=True)
class Crontab:
    """By the five fields of a crontab. In an hour that clocks repeat it happens once; one they skip is made up."""

    text: str
    zone: ZoneInfo

    @cached_property
    def _schedule(self) -> WallClockCrontab:
        return WallClockCrontab.read(self.text)

    @property
    def words(self) -> str:
        return f"{self._schedule.words or f'by the crontab {self.text}'} ({self.zone})"

    @property
    def shortest(self) -> timedelta:
        moments = [datetime(2026, 1, 1, tzinfo=UTC)]
        while len(moments) < LOOKED_AT:
            moments.append(self._schedule.next_after(moments[-1]))
        return min(later - earlier for earlier, later in pairwise(moments[1:]))

    def next_after(self, moment: datetime, start: datetime) -> datetime:
        if moment < start:
            return start
        wall = _wall_clock(moment - LONGEST_JUMP, self.zone)
        while (found := _on_clocks(wall := self._schedule.next_after(wall), self.zone)) <= moment:
            pass
        return found


def parse_recurrence(text: str, zone: ZoneInfo) -> Recurrence:
    """`10 minutes`, `every day`, or a crontab such as `0 9 * * 1-5`.

    Raises:
        InvalidInputError: it is neither; the message says what to write instead.
    """
    wanted = " ".join(text.lower().split()).removeprefix("every ")
    length = parse_length(wanted)
    if length:
        return Interval(length, zone)
    if len(wanted.split()) != FIELDS_OF_CRONTAB:
        raise InvalidInputError(
            f"{text!r} is no interval that can be used. Write a number and a unit (minutes, hours, days, weeks), "
            "such as '10 minutes', or the five fields of a crontab: '0 9 * * 1-5' is every weekday at 9:00."
        )
    found = Crontab(wanted, zone)
    try:
        _ = found.shortest
    except Exception as error:
        raise InvalidInputError(
            f"{text!r} is no crontab that can be used: {str(error).rstrip('.')}. Its fields are minute (0-59), "
            "hour (0-23), day of the month (1-31), month (1-12) and day of the week (0-6, Sunday is 0), "
            "as in '0 9 * * 1-5'."
        ) from error
    return found


def _wall_clock(moment: datetime, zone: ZoneInfo) -> datetime:
    """What the clocks of the zone show, labelled as UTC."""
    return moment.astimezone(zone).replace(tzinfo=UTC, fold=0)


def _on_clocks(wall: datetime, zone: ZoneInfo) -> datetime:
    """When the clocks of the zone show this first; a time that they skip is as much later as they jump."""
    return wall.replace(tzinfo=zone).astimezone(UTC)
