"""The settings of this app, with their defaults: `ADK = {...}` in the site's settings overrides them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings


@dataclass(frozen=True)
class Conf:
    """What a site may set in `settings.ADK`. Times are in seconds.

    Attributes:
        lease_seconds: how long an invocation outlives its process before others may take it over.
        heartbeat_seconds: how often a process renews its leases and asks for news of the sessions it watches.
        merge_seconds: the shortest time that streamed text is gathered before it is sent.
        merge_seconds_under_load: the longest.
        relay_seconds: how long news for other processes are gathered.
        invocation_seconds: how long an invocation may take.
        invocation_model_calls: how many model calls it may make.
        invocation_tokens: how many tokens it may use; 0 is no limit.
        invocation_attempts: how often an invocation whose process died is taken up, the first time included.
        job_result_limit: characters of a job's result; a larger one becomes an artifact.
        job_lost_seconds: after how long without a heartbeat a running job's worker counts as dead.
        job_resend_seconds: after how long a job that nobody began is sent to the broker again.
        pool_size: PostgreSQL connections of a process.
        cached_events: events of recently served sessions that a process keeps.
        message_limit: characters of a message.
        frame_limit: bytes of a websocket frame.
        frames_per_minute: frames that a socket may send in a minute.
        slow_reader_seconds: how long a browser that lags far behind may take to read what was sent.
    """

    lease_seconds: float = 30.0
    heartbeat_seconds: float = 5.0
    merge_seconds: float = 0.02
    merge_seconds_under_load: float = 0.1
    relay_seconds: float = 0.05
    invocation_seconds: float = 600.0
    invocation_model_calls: int = 100
    invocation_tokens: int = 0
    invocation_attempts: int = 5
    job_result_limit: int = 64_000
    job_lost_seconds: float = 20.0
    job_resend_seconds: float = 60.0
    pool_size: int = 10
    cached_events: int = 200_000
    message_limit: int = 32_000
    frame_limit: int = 256_000
    frames_per_minute: int = 240
    slow_reader_seconds: float = 20.0


@lru_cache(maxsize=1)
def conf() -> Conf:
    """The settings in force."""
    return Conf(**getattr(settings, "ADK", {}))
