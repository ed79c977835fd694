"""Failed, cut and cancelled calls of `Gemini`, and their retries (contract M2, E7, R2)."""

from __future__ import annotations

import asyncio
import time

import pytest

from runtime.errors import ModelError
from runtime.models import Gemini
from tests.model_server import Call, Failure, ModelServer, Turn
from tests.unit.runtime.models.gemini_calls import answer, ask, question, texts

OVERLOADED = Turn(failure=Failure(http_status=503, status="UNAVAILABLE", message="Overloaded."))
EXHAUSTED = Turn(failure=Failure(http_status=429, status="RESOURCE_EXHAUSTED", message="Quota is used up."))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_m2_a_transient_failure_is_retried(
    server: ModelServer, gemini: Gemini, stream: bool, status: int
) -> None:
    server.play(Turn(failure=Failure(http_status=status)), OVERLOADED, Turn(text=["Now."]))
    assert texts(await answer(gemini, stream=stream)) == ["Now."]
    assert len(server.requests) == 3


@pytest.mark.parametrize("stream", [False, True])
async def test_e7_an_exhausted_quota_raises_after_the_last_attempt(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(*[EXHAUSTED] * 4)
    with pytest.raises(ModelError) as caught:
        await ask(gemini, question(), stream=stream)
    assert (caught.value.code, caught.value.detail) == ("RESOURCE_EXHAUSTED", "Quota is used up.")
    assert "Quota" not in caught.value.message
    assert len(server.requests) == 3


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


@pytest.mark.parametrize(
    ("status", "code"), [(400, "INVALID_ARGUMENT"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND")]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_e7_an_invalid_request_is_not_retried(
    server: ModelServer, gemini: Gemini, status: int, code: str, stream: bool
) -> None:
    server.play(Turn(failure=Failure(http_status=status, status=code, message="No such thing.")))
    with pytest.raises(ModelError) as caught:
        await ask(gemini, question(), stream=stream)
    assert (caught.value.code, caught.value.detail) == (code, "No such thing.")
    assert "No such thing" not in caught.value.message
    assert len(server.requests) == 1


async def test_e7_a_proxys_html_page_is_reported_by_its_status_name(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(failure=Failure(http_status=403, html="<html>Go away</html>")))
    with pytest.raises(ModelError) as caught:
        await ask(gemini, question())
    assert caught.value.code == "PERMISSION_DENIED"


async def test_e7_an_unreachable_server_is_reported_as_unavailable(
    server: ModelServer, gemini: Gemini
) -> None:
    nowhere = gemini.model_copy(update={"base_url": "http://127.0.0.1:1"})
    with pytest.raises(ModelError, match="UNAVAILABLE: The connection to the model failed"):
        await ask(nowhere, question())


@pytest.mark.parametrize("stream", [False, True])
async def test_m2_a_connection_that_breaks_before_the_answer_is_retried(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(Turn(ending="cut"), Turn(text=["Now."]))
    assert texts(await answer(gemini, stream=stream)) == ["Now."]


async def test_m2_a_cut_stream_keeps_the_received_text_and_is_not_retried(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["The first ", "half"], ending="cut"), Turn(text=["Never requested."]))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["The first half"]
    assert (final.error_code, final.partial) == ("STREAM_CUT", None)
    assert final.error_message == "The connection to the model broke in the middle of its answer."
    assert len(server.requests) == 1


async def test_m2_a_stream_without_a_finish_reason_counts_as_cut(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=["The first half"], finish_reason=None))
    assert (await answer(gemini, stream=True)).error_code == "STREAM_CUT"


async def test_m2_function_calls_of_a_cut_answer_are_left_out(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=["I will "], calls=[Call(name="pay")], ending="cut"))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["I will "]
    assert final.error_code == "STREAM_CUT"


async def test_e7_a_cut_answer_with_calls_only_raises(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(calls=[Call(name="pay")], ending="cut"))
    with pytest.raises(ModelError, match="STREAM_CUT"):
        await ask(gemini, question(), stream=True)


async def test_e7_an_error_inside_the_stream_keeps_its_status(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=["The first half"], ending="error"))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["The first half"]
    assert (final.error_code, final.error_message) == (
        "UNAVAILABLE",
        "The model is overloaded. Try again in a moment.",
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_m2_a_silent_model_times_out(server: ModelServer, gemini: Gemini, stream: bool) -> None:
    server.play(Turn(text=["Never sent."], hold_before=[0]))
    impatient = gemini.model_copy(update={"timeout": 0.05})
    with pytest.raises(ModelError, match="DEADLINE_EXCEEDED"):
        await ask(impatient, question(), stream=stream)
    async with asyncio.timeout(2):
        await server.requests[0].disconnected.wait()
    assert len(server.requests) == 1


async def test_m2_a_model_that_falls_silent_keeps_its_text_with_a_deadline_error(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["The first ", "half"], hold_before=[1]))
    final = await answer(gemini.model_copy(update={"timeout": 0.1}), stream=True)
    assert (texts(final), final.error_code) == (["The first "], "DEADLINE_EXCEEDED")


async def test_r2_closing_the_generator_closes_the_connection_immediately(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["first", "second"], hold_before=[1]))
    responses = gemini.generate_content_async(question(), stream=True)
    await anext(responses)
    await responses.aclose()
    async with asyncio.timeout(0.05):
        assert await server.requests[0].disconnected.wait()


@pytest.mark.parametrize("stream", [False, True])
async def test_r2_cancelling_the_caller_closes_the_connection_immediately(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(Turn(text=["Never sent."], hold_before=[0]))
    asking = asyncio.create_task(ask(gemini, question(), stream=stream))
    request = await server.next_request()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(0.05):
        assert await request.disconnected.wait()
