"""Contract of models: failed, cut and cancelled calls, and their retries (M2, E7, R2). Run by test_models.py.

The fixtures are `server` (a scripted model server) and `llm` (the model that asks it, three times at most).
"""

from __future__ import annotations

import asyncio
import time

import pytest

from runtime import types
from runtime.errors import ModelError
from runtime.models import BaseLlm
from tests.contracts.model_calls import answer, ask, question, texts
from tests.model_server import Call, Failure, ModelServer, Turn

OVERLOADED = Turn(failure=Failure(http_status=503, status="UNAVAILABLE", message="Overloaded."))
EXHAUSTED = Turn(failure=Failure(http_status=429, status="RESOURCE_EXHAUSTED", message="Quota is used up."))


class ModelFailuresContract:
    """Contract M2, E7: what becomes of calls that fail."""

    @pytest.mark.parametrize("html", [None, "<html>Busy</html>"])
    async def test_m2_a_retry_waits_as_long_as_retry_after_says(
        self, server: ModelServer, llm: BaseLlm, html: str | None
    ) -> None:
        failure = Failure(http_status=429, retry_after="0.2", html=html)
        server.play(Turn(failure=failure), Turn(text=["Now."]))
        started = time.monotonic()
        assert texts(await answer(llm)) == ["Now."]
        assert time.monotonic() - started >= 0.2

    async def test_m2_a_retry_after_above_the_limit_ends_the_retries(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        failure = Failure(http_status=429, status="RESOURCE_EXHAUSTED", retry_after="3600")
        server.play(Turn(failure=failure), Turn(text=["Never requested."]))
        with pytest.raises(ModelError, match="RESOURCE_EXHAUSTED"):
            await ask(llm, question())
        assert len(server.requests) == 1

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    async def test_m2_a_transient_failure_is_retried(
        self, server: ModelServer, llm: BaseLlm, stream: bool, status: int
    ) -> None:
        server.play(Turn(failure=Failure(http_status=status)), OVERLOADED, Turn(text=["Now."]))
        assert texts(await answer(llm, stream=stream)) == ["Now."]
        assert len(server.requests) == 3

    @pytest.mark.parametrize("stream", [False, True])
    async def test_e7_an_exhausted_quota_raises_after_the_last_attempt(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(*[EXHAUSTED] * 4)
        with pytest.raises(ModelError) as caught:
            await ask(llm, question(), stream=stream)
        assert (caught.value.code, caught.value.detail) == ("RESOURCE_EXHAUSTED", "Quota is used up.")
        assert "Quota" not in caught.value.message
        assert len(server.requests) == 3

    @pytest.mark.parametrize(
        ("status", "code"), [(400, "INVALID_ARGUMENT"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND")]
    )
    @pytest.mark.parametrize("stream", [False, True])
    async def test_e7_an_invalid_request_is_not_retried(
        self, server: ModelServer, llm: BaseLlm, status: int, code: str, stream: bool
    ) -> None:
        server.play(Turn(failure=Failure(http_status=status, status=code, message="No such thing.")))
        with pytest.raises(ModelError) as caught:
            await ask(llm, question(), stream=stream)
        assert (caught.value.code, caught.value.detail) == (code, "No such thing.")
        assert "No such thing" not in caught.value.message
        assert len(server.requests) == 1

    async def test_e7_a_proxys_html_page_is_reported_by_its_status_name(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(failure=Failure(http_status=403, html="<html>Go away</html>")))
        with pytest.raises(ModelError) as caught:
            await ask(llm, question())
        assert caught.value.code == "PERMISSION_DENIED"

    async def test_e7_an_unreachable_server_is_reported_as_unavailable(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        nowhere = llm.model_copy(update={"base_url": "http://127.0.0.1:1"})
        with pytest.raises(ModelError, match="UNAVAILABLE: The connection to the model failed"):
            await ask(nowhere, question())

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_a_connection_that_breaks_before_the_answer_is_retried(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(ending="cut"), Turn(text=["Now."]))
        assert texts(await answer(llm, stream=stream)) == ["Now."]

    async def test_m2_a_cut_stream_keeps_the_received_text_and_is_not_retried(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["The first ", "half"], ending="cut"), Turn(text=["Never requested."]))
        final = await answer(llm, stream=True)
        assert texts(final) == ["The first half"]
        assert (final.error_code, final.partial) == ("STREAM_CUT", None)
        assert final.error_message == "The connection to the model broke in the middle of its answer."
        assert len(server.requests) == 1

    async def test_m2_a_stream_without_a_finish_reason_counts_as_cut(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["The first half"], finish_reason=None))
        assert (await answer(llm, stream=True)).error_code == "STREAM_CUT"

    async def test_m2_function_calls_of_a_cut_answer_are_left_out(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["I will "], calls=[Call(name="pay")], ending="cut"))
        final = await answer(llm, stream=True)
        assert texts(final) == ["I will "]
        assert final.error_code == "STREAM_CUT"

    async def test_e7_a_cut_answer_with_calls_only_raises(self, server: ModelServer, llm: BaseLlm) -> None:
        """A model whose calls arrive in pieces has yielded nothing, and asks again."""
        server.play(*[Turn(calls=[Call(name="pay")], ending="cut")] * 3)
        with pytest.raises(ModelError, match=r"STREAM_CUT|UNAVAILABLE"):
            await ask(llm, question(), stream=True)

    async def test_e7_an_error_inside_the_stream_keeps_its_status(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["The first half"], ending="error"))
        final = await answer(llm, stream=True)
        assert texts(final) == ["The first half"]
        assert (final.error_code, final.error_message) == (
            "UNAVAILABLE",
            "The model is overloaded. Try again in a moment.",
        )

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_the_timeout_of_a_request_wins(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(text=["Hello."]), Turn(text=["Never sent."], hold_before=[0]))
        await answer(llm, stream=stream)  # the first request loads the client, which takes seconds
        request = question()
        request.config.http_options = types.HttpOptions(timeout=500)
        async with asyncio.timeout(5):
            with pytest.raises(ModelError, match="DEADLINE_EXCEEDED"):
                await ask(llm, request, stream=stream)

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_the_retries_of_a_request_win(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(*[EXHAUSTED] * 3)
        request = question()
        request.config.http_options = types.HttpOptions(retry_options=types.HttpRetryOptions(attempts=1))
        with pytest.raises(ModelError, match="RESOURCE_EXHAUSTED"):
            await ask(llm, request, stream=stream)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_a_silent_model_times_out(self, server: ModelServer, llm: BaseLlm, stream: bool) -> None:
        server.play(Turn(text=["Never sent."], hold_before=[0]))
        impatient = llm.model_copy(update={"timeout": 0.5})
        with pytest.raises(ModelError, match="DEADLINE_EXCEEDED"):
            await ask(impatient, question(), stream=stream)
        async with asyncio.timeout(10):
            await server.requests[0].disconnected.wait()
        assert len(server.requests) == 1

    async def test_m2_a_model_that_falls_silent_keeps_its_text_with_a_deadline_error(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["The first ", "half"], hold_before=[1]))
        final = await answer(llm.model_copy(update={"timeout": 0.5}), stream=True)
        assert (texts(final), final.error_code) == (["The first "], "DEADLINE_EXCEEDED")

    async def test_r2_closing_the_generator_closes_the_connection_immediately(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["first", "second"], hold_before=[1]))
        responses = llm.generate_content_async(question(), stream=True)
        await anext(responses)
        await responses.aclose()
        async with asyncio.timeout(10):
            assert await server.requests[0].disconnected.wait()

    @pytest.mark.parametrize("stream", [False, True])
    async def test_r2_cancelling_the_caller_closes_the_connection_immediately(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(text=["Never sent."], hold_before=[0]))
        asking = asyncio.create_task(ask(llm, question(), stream=stream))
        request = await server.next_request()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(10):
            assert await request.disconnected.wait()
