"""Fixtures of the limits: a Redis without counts, and the model of the app `words`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from redis import Redis

from runtime.agents import LlmAgent
from sessions_app.limits import shared_redis
from sessions_app.limits.open_sockets import open_sockets
from sessions_app.limits.rates import rates
from tests.fakes import ScriptedModel
from tests.served_agents import Served


@pytest.fixture(autouse=True)
def redis(servers: None) -> Iterator[Redis]:
    """The Redis of the site, without counts of earlier tests, and asked at once even after an outage."""
    shared_redis._away_until = 0.0
    if rates.cache_info().currsize:
        rates().flush()  # Otherwise its thread, which goes on, sends them during this test.
    rates.cache_clear()
    open_sockets.cache_clear()
    with Redis.from_url(settings.REDIS_URL) as client:
        for key in client.scan_iter(f"{shared_redis.PREFIX}*"):
            client.delete(key)
        yield client
    shared_redis._away_until = 0.0


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    """The model of `words`, the only app."""
    model = ScriptedModel()
    served(LlmAgent(name="words", model=model))
    return model
