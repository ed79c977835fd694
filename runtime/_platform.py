"""Clock and random ids of the runtime. Tests replace these two functions."""

import time
import uuid


def now() -> float:
    """Return seconds since the epoch, with microsecond precision."""
    # Every session store keeps microseconds exactly: a stored event compares equal to the original.
    return time.time_ns() // 1_000 / 1_000_000


def new_id() -> str:
    return str(uuid.uuid4())
