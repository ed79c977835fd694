"""Failed, cut and cancelled calls of `Gemini`, and their retries (contract M2, E7, R2)."""

from __future__ import annotations

import time

import pytest

from runtime.errors import ModelError
from runtime.models import Gemini
from tests.contracts.model_calls import answer, ask, question, texts
from tests.model_server import Failure, ModelServer, Turn

OVERLOADED = Turn(failure=Failure(http_status=503, status="UNAVAILABLE", message="Overloaded."))
EXHAUSTED = Turn(failure=Failure(http_status=429, status="RESOURCE_EXHAUSTED", message="Quota is used up."))


@pytest.mark.parametrize(
    "failure",
    [
        Failure(http_status=429, retry_delay="0.2s"),
        Failure(http_status=503, retry_after="0.2", html="<html>Busy</html>"),
    ],
    ids=["RetryInfo", "Retry-After"],
)
async def test_m2_a_retry_waits_for_the_delay_that_the_server_requests(
    server: ModelServer, gemini: Gemini, failure: Failure
) -> None:
    server.play(Turn(failure=failure), Turn(text=["Now."]))
    started = time.monotonic()
    assert texts(await answer(gemini)) == ["Now."]
    assert time.monotonic() - started >= 0.2


async def test_m2_a_requested_delay_above_the_limit_ends_the_retries(
    server: ModelServer, gemini: Gemini
) -> None:
    failure = Failure(http_status=429, status="RESOURCE_EXHAUSTED", retry_delay="3600s")
    server.play(Turn(failure=failure), Turn(text=["Never requested."]))
    with pytest.raises(ModelError, match="RESOURCE_EXHAUSTED"):
        await ask(gemini, question())
    assert len(server.requests) == 1
