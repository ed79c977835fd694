"""Time and ids of the runtime; tests replace them here."""

from __future__ import annotations

import time
import uuid


def now() -> float:
    """Seconds since the epoch, cut to microseconds: what every store keeps exactly."""
    return round(time.time(), 6)


def new_id() -> str:
    """A fresh random id."""
    return str(uuid.uuid4())
