"""One moment to come, and a length of time, read from text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from sessions_app.errors import InvalidInputError

_LENGTH = re.compile(r"(?:(\d{1,6}|an?|one)\s*)?(second|minute|hour|day|week)s?")
_CALENDAR = ("day", "week")


@dataclass(frozen=True)
class Length:
    """A length of time in one unit, such as 10 minutes."""

    count: int
    unit: str

    @property
    def span(self) -> timedelta:
        """As a time that passes."""
        return timedelta(**{f"{self.unit}s": self.count})

    @property
    def is_of_days(self) -> bool:
        """Whether it is counted by the calendar, where a day may have 23 or 25 hours."""
        return self.unit in _CALENDAR

    def __str__(self) -> str:
        return self.unit if self.count == 1 else f"{self.count} {self.unit}s"


def parse_length(text: str) -> Length | None:
    """`10 minutes`, `an hour` or `week`; None when it is something else, or nothing at all."""
    found = _LENGTH.fullmatch(text.strip().lower())
    if found is None:
        return None
    count = int(found[1]) if found[1] and found[1].isdecimal() else 1
    return Length(count, found[2]) if count else None


def parse_moment(text: str, now: datetime) -> datetime:
    """A time to come: ISO 8601 with an offset, or `in 10 minutes`.

    Args:
        now: in the time zone of whoever is told what was wrong.

    Raises:
        InvalidInputError: it cannot be read, has no offset, or is past; the message says what to write instead.
    """
    moment = _moment(text.strip(), now)
    if moment <= now:
        raise InvalidInputError(f"{text!r} is past: {_it_is(now)} Give a time to come.")
    return moment


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its IANA name.

    Raises:
        InvalidInputError: there is no such time zone.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"There is no time zone {name!r}. Give an IANA name, such as 'Europe/Berlin'."
        ) from error


def _moment(text: str, now: datetime) -> datetime:
    length = parse_length(text[3:]) if text.lower().startswith("in ") else None
    try:
        moment = now.astimezone(UTC) + length.span if length else datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{text!r} is no time that can be read. Write it in ISO 8601 with an offset, such as "
            f"'{_iso(now + timedelta(hours=1))}', or as 'in 10 minutes'. {_it_is(now)}"
        ) from error
    if moment.tzinfo is None:
        raise InvalidInputError(
            f"{text!r} has no offset, so it could be any time zone's. Write the offset from UTC behind it, "
            f"such as '{_iso(now + timedelta(hours=1))}'. {_it_is(now)}"
        )
    return moment


def _it_is(now: datetime) -> str:
    return f"It is {_iso(now)} now."


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
