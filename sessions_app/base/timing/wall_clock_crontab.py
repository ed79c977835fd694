"""Celery's crontab on wall-clock times, with a description in words for common schedules."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from celery.schedules import crontab
from django.utils.translation import gettext, gettext_lazy, pgettext

from sessions_app.base.timing.moments import Length

DAYS = (
    *(gettext_lazy("Sunday"), gettext_lazy("Monday"), gettext_lazy("Tuesday"), gettext_lazy("Wednesday")),
    *(gettext_lazy("Thursday"), gettext_lazy("Friday"), gettext_lazy("Saturday")),
)
WEEKDAYS = {1, 2, 3, 4, 5}
WHOLE_WEEK = 7
WHOLE_MONTH = 31
WHOLE_YEAR = 12
MAX_LISTED_TIMES = 4


class WallClockCrontab(crontab):
    """Crontab on wall-clock times labelled as UTC, where no hour is skipped or repeated.

    Attributes:
        day_of_week: Weekdays; 0 is Sunday.
    """

    minute: set[int]
    hour: set[int]
    day_of_week: set[int]
    day_of_month: set[int]
    month_of_year: set[int]
    tz: tzinfo = UTC  # type: ignore[assignment]  # the stubs declare a zone name

    @classmethod
    def parse(cls, fields: str) -> WallClockCrontab:
        """Parse five fields: minute, hour, day of the month, month, day of the week."""
        minute, hour, day_of_month, month_of_year, day_of_week = fields.split()
        return cls(minute, hour, day_of_week, day_of_month, month_of_year, nowfun=lambda: datetime.now(UTC))

    def next_after(self, wall: datetime) -> datetime:
        """Return the wall-clock time of the next occurrence."""
        # Not `remaining_estimate`, which counts from the current time.
        last, to_next, _ = self.remaining_delta(wall)
        occurrence: datetime = last + to_next
        return occurrence

    @property
    def words(self) -> str:
        """The schedule in the active language, such as "every weekday at 09:00"; empty for a long description."""
        times = [f"{hour:02}:{minute:02}" for hour in sorted(self.hour) for minute in sorted(self.minute)]
        days = self._describe_days()
        if not days or len(times) > MAX_LISTED_TIMES:
            return ""
        return gettext("%(days)s at %(times)s") % {"days": days, "times": _join(times)}

    def _describe_days(self) -> str:
        is_any_weekday = len(self.day_of_week) == WHOLE_WEEK
        if len(self.month_of_year) < WHOLE_YEAR:
            return ""
        if len(self.day_of_month) < WHOLE_MONTH:
            is_single_day = len(self.day_of_month) == 1 and is_any_weekday
            day = {"day": min(self.day_of_month)}
            return gettext("on day %(day)s of every month") % day if is_single_day else ""
        if is_any_weekday:
            return Length(1, "day").every
        if self.day_of_week == WEEKDAYS:
            return gettext("every weekday")
        return gettext("every %(days)s") % {
            "days": _join([str(DAYS[day]) for day in sorted(self.day_of_week)])
        }


def _join(items: list[str]) -> str:
    *others, last = items
    if not others:
        return last
    return gettext("%(items)s and %(last)s") % {"items": pgettext("list", ", ").join(others), "last": last}
