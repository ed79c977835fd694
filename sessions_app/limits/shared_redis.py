"""Redis for shared counters. Calls are short; after a failed call there is a pause of `PAUSE_SECONDS`.

Without the pause each frame and socket would wait for the timeout of a Redis that does not answer.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

logger = logging.getLogger(__name__)
T = TypeVar("T")
CALL_SECONDS = 1.0
PAUSE_SECONDS = 5.0
"""Pause after a failed call, in seconds."""
PREFIX = "adk:limits:"

_away_until = 0.0


def attempt(call: Callable[[Redis], T]) -> T | None:
    """Return the result of a call of Redis; None while Redis does not answer, and on a site without `REDIS_URL`.

    Blocks the thread for at most `CALL_SECONDS` for each round trip.
    """
    global _away_until
    client = _client(getattr(settings, "REDIS_URL", ""))
    if client is None or time.monotonic() < _away_until:
        return None
    try:
        return call(client)
    except (RedisError, OSError) as error:
        # Without a lock: threads that meet here write almost the same time.
        _away_until = time.monotonic() + PAUSE_SECONDS
        logger.warning("Each process counts for itself what people use: Redis does not answer (%s)", error)
        return None


def tick(seconds: float, call: Callable[[], None], name: str) -> None:
    """Call a function every `seconds`, in a new thread, until the process ends."""

    def run() -> None:
        while True:
            time.sleep(seconds)
            try:
                call()
            except Exception:
                logger.exception("The thread %r could not do its work; it tries again", name)

    threading.Thread(target=run, name=name, daemon=True).start()


@lru_cache(maxsize=2)
def _client(url: str) -> Redis | None:
    if not url:
        return None
    # A restart of Redis breaks the idle connections: the second try opens a new connection.
    retry = Retry(NoBackoff(), 1)
    return Redis.from_url(url, socket_timeout=CALL_SECONDS, socket_connect_timeout=CALL_SECONDS, retry=retry)
