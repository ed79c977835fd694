"""What a model asks for when it schedules a task, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sessions_app.codec import is_storable
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError
from sessions_app.timing import Recurrence, parse_moment, parse_recurrence


@dataclass(frozen=True)
class Plan:
    """When a task is to be done."""

    start_at: datetime
    recurrence: Recurrence | None
    ends_at: datetime | None
    most_runs: int | None


def check_task(task: str) -> None:
    """Refuse a task that says nothing, or too much.

    Raises:
        InvalidInputError: so it is.
    """
    if not task.strip() or not is_storable(task):
        raise InvalidInputError("The task is empty or not text. Say in 'task' what is to be done.")
    if len(task) > conf().message_limit:
        raise InvalidInputError(
            f"The task has {len(task)} characters; the limit is {conf().message_limit}. Shorten it."
        )


def read_plan(
    now: datetime, run_at: str | None, every: str | None, ends_at: str | None, most_runs: int | None
) -> Plan:
    """The plan that these texts make; `now` is in the time zone in which they are meant.

    Raises:
        InvalidInputError: they make none; the message says what to write instead.
    """
    if not run_at and not every:
        raise InvalidInputError("Neither 'run_at' nor 'every' is given. Say when, or how often, or both.")
    if most_runs is not None and most_runs < 1:
        raise InvalidInputError(f"'most_runs' is {most_runs}. Give 1 or more, or leave it out.")
    recurrence = _recurrence(every, now) if every else None
    start_at = parse_moment(run_at, now) if run_at else _first(recurrence, now)
    end = parse_moment(ends_at, now) if ends_at else None
    if end is not None and end < start_at:
        raise InvalidInputError(
            f"It would end ({ends_at!r}) before its first time, {start_at.isoformat(timespec='seconds')}. "
            "Give a later 'ends_at'."
        )
    return Plan(start_at, recurrence, end, most_runs)


def _recurrence(every: str, now: datetime) -> Recurrence:
    assert isinstance(now.tzinfo, ZoneInfo)  # noqa: S101 - the caller's promise
    recurrence = parse_recurrence(every, now.tzinfo)
    shortest = timedelta(seconds=conf().schedule_shortest_seconds)
    if recurrence.shortest < shortest:
        raise InvalidInputError(
            f"{every!r} is more often than this site allows: {shortest.total_seconds():.0f} seconds have to lie "
            "between two times."
        )
    return recurrence


def _first(recurrence: Recurrence | None, now: datetime) -> datetime:
    assert recurrence is not None  # noqa: S101 - there is one where there is no time
    return recurrence.next_after(now, now)
