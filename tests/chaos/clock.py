"""Clock of a process of the chaos test, which may be ahead of or behind the others."""

from __future__ import annotations

import os
import time
from datetime import timedelta

from django.utils import timezone

SHIFT = "CHAOS_CLOCK_SHIFT"
"""Environment variable: the seconds by which a process's clock is ahead."""
SHIFTS = {"web1": -300.0, "web2": 300.0, "worker1": 300.0, "worker2": -300.0}
"""Seconds by which the clocks of these processes are ahead of PostgreSQL's."""


def shift_clock() -> None:
    """Shift the clock of this process, and those of its forks, each by its own `SHIFT`."""
    now, time_now = timezone.now, time.time
    timezone.now = lambda: now() + timedelta(seconds=_shift())
    time.time = lambda: time_now() + _shift()


def _shift() -> float:
    return float(os.environ.get(SHIFT, "0"))
