"""Rates: counts of people's actions in a window of time.

A process counts in its memory, and every second a thread adds its counts to the shared counts in Redis and reads the
sums. A frame therefore does not wait for Redis; in return a limit may be exceeded by the counts of other processes from
the last second. A window begins with its first count, and Redis decides when it ends. Without Redis each process counts
for itself.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from redis import Redis

from sessions_app.limits.quotas import Quota
from sessions_app.limits.shared_redis import PREFIX, attempt, tick

FLUSH_SECONDS = 1.0


@dataclass
class _Window:
    """Count of a subject until the window ends.

    Attributes:
        ends_at: end by this process's monotonic clock.
        shared: count of all processes at the last flush.
        unsent: count of this process since the last flush.
    """

    seconds: int
    ends_at: float
    shared: int = 0
    unsent: int = 0


@dataclass(frozen=True)
class ExceededQuota:
    """An exceeded quota, and the seconds until its window ends."""

    quota: Quota
    seconds: float


class Rates:
    """Counts of this process, safe to use from all threads."""

    def __init__(self) -> None:
        self._windows: dict[str, _Window] = {}
        self._lock = threading.Lock()
        # Held during a round trip to Redis. `_lock` is not, so `count` never waits for Redis. Order: this lock first.
        self._flushing = threading.Lock()

    def count(self, quotas: Sequence[Quota], amount: int = 1) -> ExceededQuota | None:
        """Add the amount to the counts; return the first exceeded quota. Does not wait for Redis."""
        with self._lock:
            for quota in quotas:
                self._window(quota).unsent += amount
        return self._exceeded(quotas)

    def count_now(self, quotas: Sequence[Quota], *, unless: Sequence[Quota] = ()) -> ExceededQuota | None:
        """Count as `count`, but with the current counts of all processes: blocks for a round trip to Redis.

        Args:
            unless: other quotas. If any of these is exceeded, return it and count nothing.
        """
        self.count(unless, 0)  # Makes the windows, for `flush` to read their shared counts.
        self.count(quotas)
        self.flush([quota.key for quota in (*unless, *quotas)])
        if exceeded := self._exceeded(unless):
            self.count(quotas, -1)
            return exceeded
        return self._exceeded(quotas)

    def flush(self, keys: Sequence[str] | None = None) -> None:
        """Add the unsent counts to the shared counts in Redis, and read the sums. Without Redis nothing changes.

        Args:
            keys: names of the counters; None for all counters with unsent counts.
        """
        with self._flushing:
            with self._lock:
                now = time.monotonic()
                self._windows = {key: window for key, window in self._windows.items() if window.ends_at > now}
                wanted = self._windows if keys is None else {*keys} & self._windows.keys()
                sending = {key: self._windows[key] for key in wanted if keys or self._windows[key].unsent}
                amounts = {key: window.unsent for key, window in sending.items()}
            if not sending:
                return
            answers = attempt(partial(_add, sending, amounts))
            if answers is None:
                return
            with self._lock:
                for (key, window), (shared, milliseconds) in zip(sending.items(), answers, strict=True):
                    window.shared = shared
                    window.unsent -= amounts[key]  # Not 0: others may have counted during the round trip.
                    window.ends_at = time.monotonic() + milliseconds / 1000

    def _window(self, quota: Quota) -> _Window:
        now = time.monotonic()
        window = self._windows.get(quota.key)
        if window is None or window.ends_at <= now:
            window = self._windows[quota.key] = _Window(quota.seconds, now + quota.seconds)
        return window

    def _exceeded(self, quotas: Sequence[Quota]) -> ExceededQuota | None:
        with self._lock:
            for quota in quotas:
                window = self._window(quota)
                if window.shared + window.unsent > quota.most:
                    return ExceededQuota(quota, max(0.0, window.ends_at - time.monotonic()))
        return None


def _add(windows: dict[str, _Window], amounts: dict[str, int], redis: Redis) -> list[tuple[int, int]]:
    """Add the amounts in one round trip; return each new count and the milliseconds until its window ends."""
    with redis.pipeline(transaction=False) as pipeline:
        for key, amount in amounts.items():
            pipeline.incrby(PREFIX + key, amount)
            # `nx`: only the first count of a window sets its end.
            pipeline.expire(PREFIX + key, windows[key].seconds, nx=True)
            pipeline.pttl(PREFIX + key)
        answers: list[Any] = pipeline.execute()
    return list(zip(answers[::3], answers[2::3], strict=True))


@lru_cache(maxsize=1)
def rates() -> Rates:
    """Return the counts of this process; the first call starts the sharing thread."""
    process_rates = Rates()
    tick(FLUSH_SECONDS, process_rates.flush, "adk limits: share rates")
    return process_rates
