"""Limits on requests and tokens of a model in a minute: calls wait for their turn (contract M5)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings as site
from pytest_django.fixtures import Settings
from redis import Redis
from redis.client import Pipeline

from runtime import types
from runtime.agents.llm_agent import LlmAgent
from runtime.errors import ModelError
from runtime.models import BaseLlm, FallbackLlm, LlmResponse
from runtime.runners import InMemoryRunner
from sessions_app.limits import model_rates, shared_redis
from sessions_app.limits.rates import rates
from tests.fakes import ScriptedModel, say, text_content

Configure = Callable[..., None]
ONE_REQUEST = {"scripted": {"requests": 1}}
WINDOW = 2
SECONDS = 30.0
WAIT = 0.5
"""Longest wait of calls that are to be refused. Those that are allowed may wait longer, for a busy machine."""
PROGRAM = r"""
import asyncio, json, os
import django
django.setup()
from django.test import override_settings
from sessions_app.limits import shared_redis
from tests.integration.limits.test_model_rates import answer
from tests.fakes import ScriptedModel

async def main():
    model = ScriptedModel(model="shared", rule=lambda request: "Yes.")
    return await asyncio.gather(*(answer(model) for _ in range(5)))

shared_redis.CALL_SECONDS = 30.0  # on a busy machine; a process that does not get an answer counts for itself
child = os.fork()
with override_settings(ADK={"model_rate_limits": {"shared": {"requests": 4}}, "model_wait_seconds": 3}):
    os.write(1, f"{json.dumps(asyncio.run(main()))}\n".encode())  # in one piece: both processes write to this pipe
if child:
    os.waitpid(child, 0)
"""


@pytest.fixture(autouse=True)
def short_minute(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A minute of two seconds."""
    monkeypatch.setattr(model_rates, "MINUTE", WINDOW)
    yield
    model_rates._shared_rate.cache_clear()


@pytest.fixture
def whole_minute(short_minute: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute that no busy machine lets pass between two calls."""
    monkeypatch.setattr(model_rates, "MINUTE", 60)


async def answer(model: BaseLlm) -> str:
    """Ask an agent with the model; return its answer or the code of its error."""
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model), app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    turn = runner.run_async(user_id="ada", session_id=session.id, new_message=say("Hi"))
    events = [event async for event in turn]
    return events[-1].error_code or "".join(
        part.text or "" for part in (events[-1].content or types.Content()).parts or []
    )


def model(tokens: int = 0) -> ScriptedModel:
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=tokens)
    response = LlmResponse(content=text_content("Yes."), usage_metadata=usage)
    return ScriptedModel(rule=lambda request: response)


async def seconds_of(*calls: asyncio.Future[str]) -> float:
    began = time.monotonic()
    async with asyncio.timeout(SECONDS):
        assert set(await asyncio.gather(*calls)) == {"Yes."}
    return time.monotonic() - began


async def test_m5_a_request_above_the_limit_waits_for_the_next_minute(configure: Configure) -> None:
    configure(model_rate_limits={"script": {"requests": 2}})
    asked = model()
    assert await seconds_of(*(asyncio.ensure_future(answer(asked)) for _ in range(3))) > WINDOW / 2
    assert len(asked.requests) == 3


async def test_m5_tokens_of_answers_count(configure: Configure) -> None:
    configure(model_rate_limits={"scripted": {"tokens": 100}})
    began = time.monotonic()
    assert await answer(model(tokens=150)) == "Yes."
    assert await answer(model()) == "Yes."
    assert time.monotonic() - began > WINDOW - 0.1


@pytest.mark.usefixtures("whole_minute")
async def test_m5_a_call_asks_redis_once_and_a_call_that_waits_for_tokens_counts_no_request(
    configure: Configure, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"scripted": {"requests": 10, "tokens": 100}}
    configure(model_rate_limits=limits)
    asked: list[str] = []
    execute = Pipeline.execute

    def record(pipeline: Pipeline, *args: bool) -> list[object]:
        asked.append(threading.current_thread().name)
        return execute(pipeline, *args)

    monkeypatch.setattr(Pipeline, "execute", record)
    rate = model_rates.find_model_rate("scripted")
    assert rate is not None
    await rate.wait()
    assert len([thread for thread in asked if "share rates" not in thread]) == 1
    rate.add_tokens(150)
    rates().flush()
    configure(model_rate_limits=limits, model_wait_seconds=WAIT)
    assert await answer(model()) == "RESOURCE_EXHAUSTED"
    rates().flush()
    assert redis.get(f"{shared_redis.PREFIX}model-requests:scripted") == b"1"


async def test_m5_a_model_without_a_limit_waits_for_nothing_and_asks_no_redis(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(model_rate_limits={"gemini": {"requests": 1}}, model_wait_seconds=WAIT)
    monkeypatch.setattr(shared_redis, "_client", lambda url: pytest.fail("Redis was asked."))
    assert [await answer(model()) for _ in range(5)] == ["Yes."] * 5


@pytest.mark.usefixtures("whole_minute")
async def test_m5_the_models_of_a_fallback_have_their_own_limits(configure: Configure) -> None:
    limits = {"first": {"requests": 1}}
    configure(model_rate_limits=limits)
    first, second = ScriptedModel(model="first", rule=lambda request: "First."), model()
    both = FallbackLlm([first, second])
    assert await answer(both) == "First."
    configure(model_rate_limits=limits, model_wait_seconds=WAIT)
    assert await answer(both) == "Yes."


@pytest.mark.usefixtures("whole_minute")
@pytest.mark.parametrize("has_redis", [True, False], ids=["shared", "without Redis"])
async def test_m5_a_wait_has_an_end(configure: Configure, settings: Settings, has_redis: bool) -> None:
    if not has_redis:
        settings.REDIS_URL = "redis://127.0.0.1:1/0"
    configure(model_rate_limits=ONE_REQUEST)
    assert await answer(model()) == "Yes."
    configure(model_rate_limits=ONE_REQUEST, model_wait_seconds=WAIT)
    assert await answer(model()) == "RESOURCE_EXHAUSTED"


async def test_m5_a_call_that_is_cancelled_while_it_waits_lets_others_wait(configure: Configure) -> None:
    configure(model_rate_limits={"scripted": {"requests": 1}})
    assert await answer(model()) == "Yes."
    stopped, other = (asyncio.create_task(answer(model())) for _ in range(2))
    await asyncio.sleep(0)
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    async with asyncio.timeout(SECONDS):
        assert await other == "Yes."


def test_m5_two_processes_share_a_limit(redis: Redis) -> None:
    """A process and its fork make five calls each at once; together they may make four in a minute."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "adk_site.settings", "REDIS_URL": site.REDIS_URL}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    both = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    answers = [json.loads(line) for line in both.stdout.splitlines()]
    assert [len(each) for each in answers] == [5, 5]
    assert sum(each.count("Yes.") for each in answers) == 4


@pytest.mark.usefixtures("whole_minute")
async def test_m5_the_error_has_the_sentence_for_a_busy_model(configure: Configure) -> None:
    configure(model_rate_limits=ONE_REQUEST)
    rate = model_rates.find_model_rate("scripted-2")
    assert rate is not None
    await rate.wait()
    configure(model_rate_limits=ONE_REQUEST, model_wait_seconds=WAIT)
    with pytest.raises(ModelError) as caught:
        await rate.wait()
    assert caught.value.message == "The model is overloaded. Try again in a moment."
    assert caught.value.detail == "The site's limit for 'scripted' allowed no request within 0.5 s."
