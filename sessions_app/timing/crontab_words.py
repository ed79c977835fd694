"""A crontab in words, for those that people ask for."""

from __future__ import annotations

from collections.abc import Set

from celery.schedules import crontab

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
WEEKDAYS = {1, 2, 3, 4, 5}
WHOLE_WEEK, WHOLE_MONTH, WHOLE_YEAR = 7, 31, 12
MOST_TIMES = 4


def crontab_words(schedule: crontab) -> str:
    """Such as "every weekday at 09:00"; nothing for one that would need a long sentence."""
    times, days = _times(schedule.hour, schedule.minute), _days(schedule)
    return f"{days} at {times}" if times and days else ""


def _times(hours: Set[int], minutes: Set[int]) -> str:
    times = [f"{hour:02}:{minute:02}" for hour in sorted(hours) for minute in sorted(minutes)]
    return _listed(times) if len(times) <= MOST_TIMES else ""


def _days(schedule: crontab) -> str:
    of_week, of_month = schedule.day_of_week, schedule.day_of_month
    if len(schedule.month_of_year) < WHOLE_YEAR:
        return ""
    if len(of_month) < WHOLE_MONTH:
        is_plain = len(of_month) == 1 and len(of_week) == WHOLE_WEEK
        return f"on day {min(of_month)} of every month" if is_plain else ""
    if len(of_week) == WHOLE_WEEK:
        return "every day"
    if of_week == WEEKDAYS:
        return "every weekday"
    return f"every {_listed([DAYS[day] for day in sorted(of_week)])}"


def _listed(items: list[str]) -> str:
    return " and ".join(part for part in (", ".join(items[:-1]), items[-1]) if part)
