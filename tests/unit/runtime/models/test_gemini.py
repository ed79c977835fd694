"""Answers of `Gemini`, through google-genai's real client and a local HTTP server (contract M2, E7)."""

from __future__ import annotations

import base64
from contextlib import aclosing

import pytest

from runtime import types
from runtime.models import Gemini
from tests.model_server import Call, ModelServer, Turn
from tests.unit.runtime.models.gemini_calls import answer, ask, question, texts


async def test_m2_an_unstreamed_answer_has_content_usage_and_finish_reason(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["Hello ", "world"]))
    [response] = await ask(gemini, question())
    assert texts(response) == ["Hello ", "world"]
    assert response.partial is None
    assert response.finish_reason is types.FinishReason.STOP
    assert response.usage_metadata is not None and response.usage_metadata.total_token_count == 12
    assert response.model_version == "gemini-test-001"
    assert response.error_code is None


async def test_m2_a_stream_yields_fragments_and_then_the_whole_answer(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["Hel", "lo ", "world"]))
    *partials, final = await ask(gemini, question(), stream=True)
    assert [texts(partial) for partial in partials] == [["Hel"], ["lo "], ["world"]]
    assert all(partial.partial for partial in partials)
    assert final.partial is None
    assert texts(final) == ["Hello world"]
    assert final.finish_reason is types.FinishReason.STOP
    assert final.usage_metadata is not None and final.usage_metadata.total_token_count == 12


async def test_m2_a_fragment_is_yielded_before_the_next_one_is_sent(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["first", "second"], hold_before=[1]))
    async with aclosing(gemini.generate_content_async(question(), stream=True)) as responses:
        assert texts(await anext(responses)) == ["first"]
        server.release()
        assert texts(await anext(responses)) == ["second"]


async def test_m2_thoughts_and_texts_are_each_joined_into_one_part(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(thoughts=["Let me ", "think."], text=["It is ", "four."]))
    *partials, final = await ask(gemini, question(), stream=True)
    assert partials[0].content is not None and partials[0].content.parts is not None
    assert partials[0].content.parts[0].thought is True
    assert final.content is not None
    assert final.content.parts == [
        types.Part(text="Let me think.", thought=True),
        types.Part(text="It is four."),
    ]


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


async def test_m2_calls_are_not_in_partial_responses(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=["Wait."], calls=[Call(name="get_time")]))
    *partials, _ = await ask(gemini, question(), stream=True)
    assert [texts(partial) for partial in partials] == [["Wait."]]


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
async def test_m2_an_answer_cut_off_by_the_token_limit_is_no_error(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(Turn(text=["Once upon"], finish_reason="MAX_TOKENS"))
    final = await answer(gemini, stream=stream)
    assert texts(final) == ["Once upon"]
    assert final.finish_reason is types.FinishReason.MAX_TOKENS
    assert final.error_code is None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reason", ["SAFETY", "MALFORMED_FUNCTION_CALL", "MAX_TOKENS"])
async def test_e7_an_answer_without_content_is_an_error_response_with_its_reason(
    server: ModelServer, gemini: Gemini, stream: bool, reason: str
) -> None:
    server.play(Turn(finish_reason=reason))
    final = await answer(gemini, stream=stream)
    assert (final.error_code, final.partial) == (reason, None)
    assert final.error_message == f"The model stopped its answer: {reason}."


async def test_e7_a_safety_block_in_the_middle_keeps_the_text_and_sets_the_error(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["The first ", "half"], finish_reason="SAFETY"))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["The first half"]
    assert (final.error_code, final.partial) == ("SAFETY", None)
    assert final.error_message == "The model stopped its answer: SAFETY."


@pytest.mark.parametrize("stream", [False, True])
async def test_e7_a_refused_prompt_is_an_error_response(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(Turn(block_reason="PROHIBITED_CONTENT"))
    [response] = await ask(gemini, question(), stream=stream)
    assert response.content is None
    assert response.error_code == "PROHIBITED_CONTENT"
    assert response.error_message == "The model refused the request: PROHIBITED_CONTENT."
