"""`Gemini` beyond the contract of models: parts, metadata, reasons and delays of Gemini's API (contract M2, E7)."""

from __future__ import annotations

import base64
import time

import pytest
from google.genai import Client

from runtime import types
from runtime.errors import ModelError
from runtime.models import Gemini
from runtime.models.llm_response import why_stopped
from runtime.models.streaming import StreamedAnswer
from tests.contracts.model_calls import answer, ask, question, texts
from tests.model_server import Call, Failure, ModelServer, Turn


def test_m2_a_partial_response_has_the_usage_so_far() -> None:
    streamed = StreamedAnswer()
    partials = [
        streamed.add(_chunk("Hel", 7)),
        streamed.add(_chunk("lo", 9)),
        streamed.add(_chunk("!", None)),
    ]
    used = [partial.usage_metadata for partial in partials if partial]
    assert [usage.total_token_count for usage in used if usage] == [7, 9, 9]
    assert {partial.model_version for partial in partials if partial} == {"gemini-test-001"}


def _chunk(text: str, tokens: int | None) -> types.GenerateContentResponse:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=tokens) if tokens else None
    return types.GenerateContentResponse(
        candidates=[types.Candidate(content=content)], usage_metadata=usage, model_version="gemini-test-001"
    )


async def test_m2_other_parts_and_thought_signatures_keep_their_position(
    server: ModelServer, gemini: Gemini
) -> None:
    code = {"executableCode": {"code": "2 + 2", "language": "PYTHON"}}
    image = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"png").decode()}}
    signed = {"text": "", "thoughtSignature": base64.b64encode(b"proof").decode()}
    plain = [{"text": "Result"}, {"text": ": "}]
    server.play(Turn(text=["So: "], parts=[code, *plain, image, signed]))
    final = await answer(gemini, stream=True)
    assert final.content is not None and final.content.parts is not None
    first, second, third, fourth, fifth = final.content.parts
    assert first.text == "So: "
    assert second.executable_code is not None and second.executable_code.code == "2 + 2"
    assert third.text == "Result: "
    assert fourth.inline_data is not None and fourth.inline_data.data == b"png"
    assert fifth.thought_signature == b"proof"


@pytest.mark.parametrize("stream", [False, True])
async def test_m2_function_calls_keep_ids_arguments_and_signatures(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    signature = base64.b64encode(b"why").decode()
    calls = [
        Call(name="get_weather", args={"city_name": "Kyiv"}, id="c1", thought_signature=signature),
        Call(name="get_time"),
    ]
    server.play(Turn(text=["Wait."], calls=calls))
    final = await answer(gemini, stream=stream)
    assert final.content is not None and final.content.parts is not None
    text, weather, clock = final.content.parts
    assert text.text == "Wait."
    assert weather.function_call == types.FunctionCall(
        id="c1", name="get_weather", args={"city_name": "Kyiv"}
    )
    assert weather.thought_signature == b"why"
    assert clock.function_call is not None and clock.function_call.id is None


async def test_m2_grounding_and_citations_are_on_the_whole_answer(
    server: ModelServer, gemini: Gemini
) -> None:
    candidate = {
        "groundingMetadata": {"webSearchQueries": ["weather"]},
        "citationMetadata": {"citationSources": [{"uri": "https://example.org", "startIndex": 0}]},
    }
    server.play(Turn(text=["Sunny", "."], candidate=candidate))
    final = await answer(gemini, stream=True)
    assert final.grounding_metadata is not None
    assert final.grounding_metadata.web_search_queries == ["weather"]
    assert final.citation_metadata is not None and final.citation_metadata.citations is not None
    assert [citation.uri for citation in final.citation_metadata.citations] == ["https://example.org"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reason", ["SAFETY", "MALFORMED_FUNCTION_CALL", "MAX_TOKENS"])
async def test_e7_an_answer_without_content_is_an_error_response_with_its_reason(
    server: ModelServer, gemini: Gemini, stream: bool, reason: str
) -> None:
    server.play(Turn(finish_reason=reason))
    final = await answer(gemini, stream=stream)
    assert (final.error_code, final.partial) == (reason, None)
    assert final.error_message == why_stopped(types.FinishReason(reason))


async def test_m2_a_retry_waits_for_the_delay_in_the_error(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(failure=Failure(http_status=429, retry_delay="0.2s")), Turn(text=["Now."]))
    started = time.monotonic()
    assert texts(await answer(gemini)) == ["Now."]
    assert time.monotonic() - started >= 0.2


async def test_m2_a_delay_in_the_error_above_the_limit_ends_the_retries(
    server: ModelServer, gemini: Gemini
) -> None:
    failure = Failure(http_status=429, status="RESOURCE_EXHAUSTED", retry_delay="3600s")
    server.play(Turn(failure=failure), Turn(text=["Never requested."]))
    with pytest.raises(ModelError, match="RESOURCE_EXHAUSTED"):
        await ask(gemini, question())
    assert len(server.requests) == 1


@pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
@pytest.mark.parametrize("stream", [False, True])
async def test_the_authors_own_client_and_its_arguments_are_used(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    client = Client(api_key="own-key", http_options=types.HttpOptions(base_url=server.url))

    class Own(Gemini):
        @property
        def api_client(self) -> Client:
            return client

    arguments = {"api_key": "key-of-arguments", "http_options": {"base_url": server.url}}
    for llm in (Gemini(client=client), Own(), Gemini(client_kwargs=arguments)):
        assert llm.setup_problems() == []
        server.play(Turn(text=["Hi."]))
        await answer(llm, stream=stream)
    sent = [set(request.headers.values()) for request in server.requests]
    assert ["own-key" in sent[0], "own-key" in sent[1], "key-of-arguments" in sent[2]] == [True] * 3


def test_a_parameter_that_a_model_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="use_interactions_api"):
        Gemini.model_validate({"model": "gemini-test", "use_interactions_api": True})
