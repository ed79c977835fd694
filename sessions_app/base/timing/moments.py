"""Parsing of future moments, lengths of time and time zones."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.template.defaultfilters import pluralize
from django.utils.translation import ngettext_lazy

from sessions_app.errors import InvalidInputError

_LENGTH_PATTERN = re.compile(r"(?:(\d{1,6}|an?|one)\s*)?(second|minute|hour|day|week)s?")
_CALENDAR_UNITS = ("day", "week")


@dataclass(frozen=True)
class Length:
    """A length of time in one unit, such as 10 minutes."""

    count: int
    unit: str

    @property
    def span(self) -> timedelta:
        return timedelta(**{f"{self.unit}s": self.count})

    @property
    def is_calendar_based(self) -> bool:
        """Return True for days and weeks: a calendar day may have 23 or 25 hours."""
        return self.unit in _CALENDAR_UNITS

    @property
    def every(self) -> str:
        """The interval of this length in the active language, such as "every 10 minutes"."""
        words = {
            "second": ngettext_lazy("every second", "every %(count)d seconds", "count"),
            "minute": ngettext_lazy("every minute", "every %(count)d minutes", "count"),
            "hour": ngettext_lazy("every hour", "every %(count)d hours", "count"),
            "day": ngettext_lazy("every day", "every %(count)d days", "count"),
            "week": ngettext_lazy("every week", "every %(count)d weeks", "count"),
        }
        return words[self.unit] % {"count": self.count}

    def __str__(self) -> str:
        return self.unit if self.count == 1 else f"{self.count} {self.unit}s"


def parse_length(text: str) -> Length | None:
    """Parse a length such as `10 minutes`, `an hour` or `week`; None for other texts and a length of 0."""
    match = _LENGTH_PATTERN.fullmatch(text.strip().lower())
    if match is None:
        return None
    count = int(match[1]) if match[1] and match[1].isdecimal() else 1
    return Length(count, match[2]) if count else None


def parse_moment(text: str, now: datetime, longest: timedelta) -> datetime:
    """Parse a future moment: ISO 8601 with an offset, or a delay such as `in 10 minutes`.

    Args:
        now: Current time; error messages show times in its time zone.
        longest: Longest time from `now` to the moment.

    Raises:
        InvalidInputError: The text cannot be parsed, has no offset, is in the past or too far away; the message names
            the remedy.
    """
    # The messages state the current time: a model reads them and has no clock.
    too_far = InvalidInputError(
        f"{text!r} is too far away. {_state_time(now)} "
        f"Give a time in the next {longest.days} day{pluralize(longest.days)}."
    )
    try:
        moment = _parse(text.strip(), now)
    except OverflowError as error:
        raise too_far from error
    if moment <= now:
        raise InvalidInputError(f"{text!r} is in the past: {_state_time(now)} Give a future time.")
    if moment - now > longest:
        raise too_far
    return moment


def in_utc(time: datetime) -> datetime:
    """Return the time in UTC.

    Raises:
        ValueError: the time has no offset.
        OverflowError: the time in UTC is not in Python's calendar.
    """
    # For PostgreSQL, which refuses offsets of 16 hours and more; Python reads them.
    if time.tzinfo is None:
        raise ValueError("The time has no offset.")
    return time.astimezone(UTC)


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name.

    Raises:
        InvalidInputError: There is no such time zone.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"There is no time zone {name!r}. Give an IANA name, such as 'Europe/Berlin'."
        ) from error


def _parse(text: str, now: datetime) -> datetime:
    length = parse_length(text[3:]) if text.lower().startswith("in ") else None
    try:
        moment = now.astimezone(UTC) + length.span if length else datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{text!r} is not a valid time. Write it in ISO 8601 with an offset, such as "
            f"'{_format_iso(now + timedelta(hours=1))}', or as 'in 10 minutes'. {_state_time(now)}"
        ) from error
    if moment.tzinfo is None:
        raise InvalidInputError(
            f"{text!r} has no offset, so its time zone is unknown. Append the offset from UTC, "
            f"such as '{_format_iso(now + timedelta(hours=1))}'. {_state_time(now)}"
        )
    return moment


def _state_time(now: datetime) -> str:
    return f"It is {_format_iso(now)} now."


def _format_iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
