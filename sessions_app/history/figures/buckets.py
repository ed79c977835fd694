"""Buckets of durations.

Percentiles cannot be added up, but counts can: sums of buckets over days and apps give the percentiles of all. The
buckets grow in proportion, so the relative error is the same for short and long durations.
"""

from collections.abc import Mapping
from math import ceil, log2

STEPS = 4
"""Number of buckets for each doubling of a duration. With four, a percentile is at most a fifth too high."""
MIN_SECONDS, MAX_SECONDS = 2**-6, 2**14


def bucket_of(seconds: float) -> str:
    """Return the name of the bucket of a duration."""
    return str(ceil(STEPS * log2(min(max(seconds, MIN_SECONDS), MAX_SECONDS))))


def percentile(counts: Mapping[str, float], share: float) -> float | None:
    """Return the duration in seconds not exceeded by `share` (0 to 1) of the durations; None without a count."""
    total = sum(counts.values())
    seen = 0.0
    for bucket, count in sorted((int(name), count) for name, count in counts.items()):
        seen += count
        if seen >= share * total and count > 0:
            return float(2 ** (bucket / STEPS))
    return None
