"""Sweep over overdue rows of several kinds. Each kind gets a share of the sweep's time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.db.models import DurationField, F, Func, Model, QuerySet

from sessions_app.conf import conf

logger = logging.getLogger(__name__)
BATCH_SIZE = 100
MAX_DOUBLINGS = 10
M = TypeVar("M", bound=Model)

Repair = Callable[[float], bool]
"""Repairs one kind of rows for about this many seconds. Returns True when more rows may be overdue."""


class OverdueRows(Generic[M]):
    """Rows of one kind, each of which a sweep repairs once. A row that fails does not hold up the others.

    Args:
        find: returns the rows that are overdue now, the most urgent first.
        repair: repairs one row. The next sweep finds a row for which it raises.
    """

    def __init__(self, find: Callable[[], QuerySet[M]], repair: Callable[[M], object]) -> None:
        self._find = find
        self._repair = repair
        self._seen: set[Any] = set()

    def __call__(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        rows = list(self._find().exclude(pk__in=self._seen)[:BATCH_SIZE])
        for row in rows:
            self._seen.add(row.pk)
            try:
                self._repair(row)
            except Exception:  # one row must not hold up the others
                logger.exception("The sweep could not repair %s %s", row._meta.verbose_name, row.pk)
            if time.monotonic() >= until:
                return True
        return len(rows) == BATCH_SIZE


def sweep_over(repairs: Sequence[Repair]) -> None:
    """Run the repairs in turns, until no row is overdue or `sweep_seconds` are over.

    Each repair gets an equal share of these seconds in a turn.
    """
    seconds = conf().sweep_seconds
    end = time.monotonic() + seconds
    remaining = list(repairs)
    while remaining:
        remaining = [repair for repair in remaining if _repair_some(repair, seconds / len(repairs))]
        if time.monotonic() >= end:
            return


def _repair_some(repair: Repair, seconds: float) -> bool:
    try:
        return repair(seconds)
    except Exception:  # one kind of rows must not hold up the others; the next sweep tries again
        logger.exception("A part of the sweep failed")
        return False


def resend_pause() -> Func:
    """Return the time, by the column `sends`, after which a row that was sent to the broker is sent again.

    The time doubles with each send: the row may wait in a long queue, which each send makes longer.
    """
    return Func(
        F("sends"),
        template=f"make_interval(secs => %(seconds)s * 2 ^ least(greatest(%(expressions)s - 1, 0), {MAX_DOUBLINGS}))",
        seconds=float(conf().job_resend_seconds),
        output_field=DurationField(),
    )
