"""Sweep over overdue rows of several kinds: what crashes left unfinished, and what is due.

Every few seconds a worker runs the repairs in turns. In a turn each repair gets an equal share of `sweep_seconds`, and
repairs with more overdue rows come again until the time is over: a thousand lost jobs do not delay an expired lease.
Sweeps may overlap, and a worker may die in the middle, so each repair must be safe to repeat and to run twice at the
same time: it changes a row with a condition on the row's state.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db.models import DurationField, F, Func, Model, Q, QuerySet
from django.db.models.functions import Now

from sessions_app.conf import conf

logger = logging.getLogger(__name__)
BATCH_SIZE = 100
MAX_DOUBLINGS = 10
SEND_GRACE = timedelta(seconds=5)
"""Age of a new row above which the sweep sends it: the process that created the row sends it first."""
M = TypeVar("M", bound=Model)

Repair = Callable[[float], bool]
"""Repairs rows of a kind for about the given number of seconds. Returns True if more rows may be overdue."""


class OverdueRows(Generic[M]):
    """Rows of a kind, each repaired once in a sweep. A failed row does not hold up the others.

    Args:
        find: returns the overdue rows, the most urgent first.
        repair: repairs a row. The next sweep finds the row again if this raises.
    """

    def __init__(self, find: Callable[[], QuerySet[M]], repair: Callable[[M], object]) -> None:
        self._find = find
        self._repair = repair
        self._seen: set[Any] = set()

    def __call__(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        # A row that failed is still overdue: without the exclusion it would fill the batches of this sweep.
        rows = list(self._find().exclude(pk__in=self._seen)[:BATCH_SIZE])
        for row in rows:
            self._seen.add(row.pk)
            try:
                self._repair(row)
            except Exception:  # a failed row must not hold up the others
                logger.exception("The sweep could not repair %s %s", row._meta.verbose_name, row.pk)
            if time.monotonic() >= until:
                return True
        return len(rows) == BATCH_SIZE


def sweep_over(repairs: Sequence[Repair]) -> None:
    """Run the repairs in turns, until no row is overdue or `sweep_seconds` are over."""
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


def waits_to_be_sent(created: str = "created_at") -> Q:
    """Match rows never sent to the broker, and rows sent so long ago that the broker may have lost the message.

    Args:
        created: lookup of the time when the row was created.
    """
    unsent = Q(sent_at__isnull=True, **{f"{created}__lt": Now() - SEND_GRACE})
    return unsent | Q(sent_at__lt=Now() - resend_pause())


def claim_once(queued: QuerySet[Any], **values: Any) -> bool:
    """Claim a row for a worker; return False when the row is no longer queued.

    Args:
        queued: the row, with the condition that it is queued. The condition makes the claim atomic: of two workers
            with the same message one updates the row.
        values: columns to set besides `attempts` and `started_at`.
    """
    return queued.update(attempts=F("attempts") + 1, started_at=Now(), **values) > 0


def resend_pause() -> Func:
    """Return the time, by the column `sends`, after which a row is sent to the broker again."""
    # Doubled with each send: the row may wait in a long queue, which each send makes longer.
    return Func(
        F("sends"),
        template=f"make_interval(secs => %(seconds)s * 2 ^ least(greatest(%(expressions)s - 1, 0), {MAX_DOUBLINGS}))",
        seconds=float(conf().job_resend_seconds),
        output_field=DurationField(),
    )
