"""Baseline tasks of the jobs benchmark: an empty Celery task, and one that records its start time."""

from __future__ import annotations

import time

from celery import shared_task
from django.conf import settings
from redis import Redis

STAMPS = "bench:stamps"


@shared_task(name="bench.nothing", ignore_result=True)
def nothing() -> None:
    """Do nothing."""


@shared_task(name="bench.stamp", ignore_result=True)
def stamp(sent_at: float) -> None:
    """Record when the task was sent and when it started."""
    started_at = time.time()
    with Redis.from_url(settings.REDIS_URL) as client:
        client.rpush(STAMPS, f"{sent_at} {started_at}")
