"""The settings of this app, with their defaults: `ADK = {...}` in the site's settings overrides them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, Literal

from django.conf import settings
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

KNOWN_ONLY = ConfigDict(extra="forbid")
QueuePolicy = Literal["enqueue", "reject", "interrupt"]


@dataclass(frozen=True, config=KNOWN_ONLY)
class Price:
    """What a model costs for a million tokens, in whatever currency the site counts in.

    Attributes:
        cached_input: for input that the model had in its cache; without it, as other input.
    """

    input: float
    output: float
    cached_input: float | None = None


@dataclass(frozen=True, config=KNOWN_ONLY)
class Conf:
    """What a site may set in `settings.ADK`. Times are in seconds.

    Attributes:
        apps: by the name of an app, what is different for it: of `queue_policy`, `invocations_of_app` and the limits of
            an invocation.
        queue_policy: what happens to a message while another is answered: it waits for its turn (`enqueue`), is
            refused (`reject`), or stops the other (`interrupt`).
        invocations_of_person: how many invocations a person may have running at once; 0 is no limit.
        invocations_of_app: how many an app may have running at once; 0 is no limit.
        lease_seconds: how long an invocation outlives its process before others may take it over.
        heartbeat_seconds: how often a process renews its leases and asks for news of the sessions it watches.
        merge_seconds: the shortest time that streamed text is gathered before it is sent.
        merge_seconds_under_load: the longest.
        relay_seconds: the least time between two messages to other processes; news are gathered meanwhile.
        worker_sessions: how many sessions a process of a Celery worker runs at once; further ones wait.
        invocation_seconds: how long an invocation may take.
        invocation_model_calls: how many model calls it may make.
        invocation_tokens: how many tokens it may use; 0 is no limit.
        invocation_cost: what it may cost by `prices`; 0 is no limit.
        prices: by the beginning of a model's name, {"input": ..., "output": ..., "cached_input": ...}: see `Price`.
        invocation_attempts: how often an invocation whose process died is taken up, the first time included.
        job_result_limit: characters of a job's result; a larger one becomes an artifact.
        job_lost_seconds: after how long without a heartbeat a running job's worker counts as dead.
        job_resend_seconds: after how long a job that nobody began is sent to the broker again.
        schedule_shortest_seconds: the shortest time between two occurrences of a scheduled task.
        schedules_per_session: how many scheduled tasks may be active in a session.
        pool_size: PostgreSQL connections of a process.
        prepared_statements: whether these connections keep statements that they have planned; off for a pooler between
            that changes connections and does not know of them.
        cached_events: events of recently served sessions that a process keeps.
        message_limit: characters of a message.
        frame_limit: bytes of a websocket frame.
        frames_per_minute: frames that a socket may send in a minute.
        slow_reader_seconds: how long a browser that lags far behind may take to read what was sent.
    """

    apps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    queue_policy: QueuePolicy = "enqueue"
    invocations_of_person: int = 0
    invocations_of_app: int = 0
    lease_seconds: float = 30.0
    heartbeat_seconds: float = 5.0
    merge_seconds: float = 0.02
    merge_seconds_under_load: float = 0.1
    relay_seconds: float = 0.05
    worker_sessions: int = 50
    invocation_seconds: float = 600.0
    invocation_model_calls: int = 100
    invocation_tokens: int = 0
    invocation_cost: float = 0.0
    prices: Mapping[str, Price] = field(default_factory=dict)
    invocation_attempts: int = 5
    job_result_limit: int = 64_000
    job_lost_seconds: float = 20.0
    job_resend_seconds: float = 60.0
    schedule_shortest_seconds: float = 60.0
    schedules_per_session: int = 20
    pool_size: int = 10
    prepared_statements: bool = True
    cached_events: int = 200_000
    message_limit: int = 32_000
    frame_limit: int = 256_000
    frames_per_minute: int = 240
    slow_reader_seconds: float = 20.0

    def of_app(self, app_name: str) -> Conf:
        """These settings with what is different for the app."""
        return replace(self, **self.apps.get(app_name, {}))

    def by_app(self, setting: str) -> dict[str, Any]:
        """One setting of every app that has its own, and under "" of all others."""
        named = {name: own[setting] for name, own in self.apps.items() if setting in own}
        return {**named, "": getattr(self, setting)}

    def price(self, model: str) -> Price | None:
        """What the model costs: of the names that it begins with, the longest counts."""
        known = [name for name in self.prices if model.startswith(name)]
        return self.prices[max(known, key=len)] if known else None


@lru_cache(maxsize=1)
def conf() -> Conf:
    """The settings in force.

    Raises:
        pydantic.ValidationError: `settings.ADK` has something that is unknown, or of the wrong type.
    """
    return Conf(**getattr(settings, "ADK", {}))
