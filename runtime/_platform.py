"""Clock and random ids of the runtime. Tests replace these two functions."""

from __future__ import annotations

import time
import uuid


def now() -> float:
    """Return seconds since the epoch, rounded to microseconds, which every session store keeps exactly."""
    return round(time.time(), 6)


def new_id() -> str:
    """Return a new random id."""
    return str(uuid.uuid4())
