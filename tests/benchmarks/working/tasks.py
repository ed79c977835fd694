"""The floor of a job: Celery tasks that do nothing, and one that notes the time."""

from __future__ import annotations

import time

from celery import shared_task
from django.conf import settings
from redis import Redis

STAMPS = "bench:stamps"


@shared_task(name="bench.nothing", ignore_result=True)
def nothing() -> None:
    """Nothing at all."""


@shared_task(name="bench.stamp", ignore_result=True)
def stamp(sent_at: float) -> None:
    """Note when it was sent and when it began."""
    began_at = time.time()
    with Redis.from_url(settings.REDIS_URL) as client:
        client.rpush(STAMPS, f"{sent_at} {began_at}")
