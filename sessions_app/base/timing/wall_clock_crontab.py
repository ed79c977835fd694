"""Celery's crontab on wall-clock times, with a description in words for common schedules."""

from datetime import UTC, date, datetime, tzinfo
from itertools import pairwise

from celery.schedules import crontab
from django.utils.dates import MONTHS
from django.utils.formats import date_format
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
MINUTES_OF_HOUR = 60
MINUTES_OF_DAY = 24 * MINUTES_OF_HOUR
ORDINARY_YEAR = 2027
LEAP_DAY = ({29}, {2})


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
    def parse(cls, fields: str) -> "WallClockCrontab":
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
        times = [
            hour * MINUTES_OF_HOUR + minute for hour in sorted(self.hour) for minute in sorted(self.minute)
        ]
        days = self._describe_days()
        if not days:
            return ""
        if len(times) <= MAX_LISTED_TIMES:
            clock_times = _join([_clock_time(time) for time in times])
            return gettext("%(days)s at %(times)s") % {"days": days, "times": clock_times}
        often = _describe_interval(times)
        if self._is_daily or not often:
            return often
        return gettext("%(days)s, %(often)s") % {"days": days, "often": often}

    @property
    def _is_daily(self) -> bool:
        days = len(self.day_of_week), len(self.day_of_month), len(self.month_of_year)
        return days == (WHOLE_WEEK, WHOLE_MONTH, WHOLE_YEAR)

    def _describe_days(self) -> str:
        is_any_weekday = len(self.day_of_week) == WHOLE_WEEK
        is_any_month = len(self.month_of_year) == WHOLE_YEAR
        if len(self.day_of_month) < WHOLE_MONTH:
            if not is_any_weekday or len(self.day_of_month) > MAX_LISTED_TIMES:
                return ""
            return self._describe_days_of_month() if is_any_month else self._describe_date()
        days = self._describe_weekdays()
        if is_any_month:
            return days
        months = _join([str(MONTHS[month]) for month in sorted(self.month_of_year)])
        return gettext("%(days)s in %(months)s") % {"days": days, "months": months}

    def _describe_weekdays(self) -> str:
        if len(self.day_of_week) == WHOLE_WEEK:
            return Length(1, "day").every
        if self.day_of_week == WEEKDAYS:
            return gettext("every weekday")
        names = _join([str(DAYS[day]) for day in sorted(self.day_of_week)])
        return gettext("every %(days)s") % {"days": names}

    def _describe_days_of_month(self) -> str:
        days = sorted(self.day_of_month)
        if len(days) == 1:
            return gettext("on day %(day)s of every month") % {"day": days[0]}
        return gettext("on days %(days)s of every month") % {"days": _join([str(day) for day in days])}

    def _describe_date(self) -> str:
        """Return the only date of every year; empty for several dates, and for February 29."""
        is_single_day = len(self.day_of_month) == len(self.month_of_year) == 1
        if not is_single_day or (self.day_of_month, self.month_of_year) == LEAP_DAY:
            return ""
        day = date(ORDINARY_YEAR, min(self.month_of_year), min(self.day_of_month))
        return gettext("every year on %(date)s") % {"date": date_format(day, "MONTH_DAY_FORMAT")}


def _describe_interval(times: list[int]) -> str:
    """Return the equal interval between times of the day, in minutes since midnight; empty for unequal intervals."""
    intervals = {later - earlier for earlier, later in pairwise(times)}
    if len(intervals) > 1:
        return ""
    minutes = intervals.pop()
    if minutes % MINUTES_OF_HOUR:
        often = Length(minutes, "minute").every
    else:
        often = Length(minutes // MINUTES_OF_HOUR, "hour").every
    if times[0] == 0 and minutes * len(times) == MINUTES_OF_DAY:
        return often
    period = {"often": often, "first": _clock_time(times[0]), "last": _clock_time(times[-1])}
    return gettext("%(often)s from %(first)s to %(last)s") % period


def _clock_time(minutes: int) -> str:
    return f"{minutes // MINUTES_OF_HOUR:02}:{minutes % MINUTES_OF_HOUR:02}"


def _join(items: list[str]) -> str:
    *others, last = items
    if not others:
        return last
    return gettext("%(items)s and %(last)s") % {"items": pgettext("list", ", ").join(others), "last": last}
