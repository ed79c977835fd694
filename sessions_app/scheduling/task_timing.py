"""Times of scheduled tasks: the current time for an agent, and validation of a model's arguments for a task.

Errors are sentences with a remedy, because the model reads them and tries again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.template.defaultfilters import pluralize
from django.utils import timezone

from runtime.context import ReadonlyContext
from sessions_app.base.codec import is_storable
from sessions_app.base.timing import Recurrence, parse_moment, parse_recurrence, zone_of
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.store.shared_state import BROWSER_TIME_ZONE_KEY

TIME_ZONE_KEY = "user:time_zone"


@dataclass(frozen=True)
class TaskTiming:
    """First time, recurrence and end of a scheduled task."""

    start_at: datetime
    recurrence: Recurrence | None
    ends_at: datetime | None
    most_runs: int | None


def longest_delay() -> timedelta:
    """Return the longest time until a run of a task, and between two runs."""
    return timedelta(seconds=conf().schedule_longest_seconds)


def check_task(task: str) -> None:
    """Check the text of a task.

    Raises:
        InvalidInputError: The text is empty, too long, or cannot be stored.
    """
    if not task.strip() or not is_storable(task):
        raise InvalidInputError("The task is empty or not text. Describe in 'task' what to do.")
    if len(task) > conf().message_limit:
        raise InvalidInputError(
            f"The task has {len(task)} characters; the limit is {conf().message_limit}. Shorten it."
        )


def parse_task_timing(
    now: datetime, run_at: str | None, every: str | None, ends_at: str | None, most_runs: int | None
) -> TaskTiming:
    """Parse the arguments of `schedule_task`.

    Args:
        now: current time in the time zone of the recurrence, a `ZoneInfo`.
        run_at: see `schedule_task`.
        every: see `schedule_task`.
        ends_at: see `schedule_task`.
        most_runs: see `schedule_task`.

    Raises:
        InvalidInputError: An argument is invalid; the message names the remedy.
    """
    if not run_at and not every:
        raise InvalidInputError("Neither 'run_at' nor 'every' is given. Give at least one of them.")
    if most_runs is not None and most_runs < 1:
        raise InvalidInputError(f"'most_runs' is {most_runs}. Give 1 or more, or leave it out.")
    recurrence = _parse_frequency(every, now) if every else None
    longest = longest_delay()
    start_at = parse_moment(run_at, now, longest) if run_at else _first_time(recurrence, now)
    if start_at > now + longest:
        raise InvalidInputError(f"{every!r} first occurs in {start_at.year}, which is too far away.")
    end = parse_moment(ends_at, now, longest) if ends_at else None
    if end is not None and end < start_at:
        raise InvalidInputError(
            f"The task would end ({ends_at!r}) before its first time, {start_at.isoformat(timespec='seconds')}. "
            "Give a later 'ends_at'."
        )
    return TaskTiming(start_at, recurrence, end, most_runs)


def _parse_frequency(every: str, now: datetime) -> Recurrence:
    assert isinstance(now.tzinfo, ZoneInfo)  # noqa: S101 - `schedule_task` converts to a ZoneInfo
    recurrence = parse_recurrence(every, now.tzinfo)
    shortest = timedelta(seconds=conf().schedule_shortest_seconds)
    if recurrence.shortest < shortest:
        raise InvalidInputError(
            f"{every!r} is more often than this site allows. Leave at least {shortest.total_seconds():.0f} s "
            "between two runs."
        )
    if recurrence.shortest > longest_delay():
        days = longest_delay().days
        raise InvalidInputError(
            f"{every!r} is less often than this site allows. Leave at most {days} day{pluralize(days)} between two "
            "runs, or schedule a single run with 'run_at'."
        )
    return recurrence


def _first_time(recurrence: Recurrence | None, now: datetime) -> datetime:
    assert recurrence is not None  # noqa: S101 - given when `run_at` is not
    return recurrence.next_after(now, now)


def current_time_instruction(context: ReadonlyContext) -> str:
    """Return a sentence with the current minute for an agent's instruction; a model has no clock."""
    # The clock of this machine is exact enough for a minute, and spares a query for each request of a model.
    now = timezone.now().astimezone(zone_for(context.state))
    return f"It is {now:%A}, {now.isoformat(timespec='minutes')}, in the time zone {now.tzinfo}."


def zone_for(state: Mapping[str, Any], time_zone: str | None = None) -> ZoneInfo:
    """Return the zone `time_zone`, or else of `user:time_zone` in the state, or the browser's, or the site's zone.

    Raises:
        InvalidInputError: There is no such time zone.
    """
    return zone_of(
        str(time_zone or state.get(TIME_ZONE_KEY) or state.get(BROWSER_TIME_ZONE_KEY) or settings.TIME_ZONE)
    )
