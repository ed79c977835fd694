"""`Gemini` asks google-genai's real client, which asks a local server over HTTP (spec M2, E7, Q13)."""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import aclosing

import pytest

from runtime import types
from runtime.errors import ConfigurationError, ModelError
from runtime.models import Gemini, LlmRequest, LlmResponse
from tests.model_server import Call, Failure, ModelServer, Turn


def user_says(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def model_says(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])


def question(text: str = "Hi") -> LlmRequest:
    return LlmRequest(contents=[user_says(text)])


async def ask(gemini: Gemini, request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    async with aclosing(gemini.generate_content_async(request, stream=stream)) as responses:
        return [response async for response in responses]


async def answer(gemini: Gemini, request: LlmRequest | None = None, *, stream: bool = False) -> LlmResponse:
    return (await ask(gemini, request or question(), stream=stream))[-1]


def texts(response: LlmResponse) -> list[str | None]:
    assert response.content is not None
    return [part.text for part in response.content.parts or []]


OVERLOADED = Turn(failure=Failure(http_status=503, status="UNAVAILABLE", message="Overloaded."))
EXHAUSTED = Turn(failure=Failure(http_status=429, status="RESOURCE_EXHAUSTED", message="Quota is used up."))


async def test_m2_a_unary_answer_carries_content_usage_and_finish_reason(
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


async def test_m2_a_stream_yields_its_fragments_and_then_the_whole(
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


async def test_m2_a_fragment_arrives_before_the_next_one_is_sent(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=["first", "second"], hold_before=[1]))
    async with aclosing(gemini.generate_content_async(question(), stream=True)) as responses:
        assert texts(await anext(responses)) == ["first"]
        server.release()
        assert texts(await anext(responses)) == ["second"]


async def test_m2_thoughts_and_text_become_one_part_each_in_order(
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


async def test_m2_other_parts_keep_their_place_and_thought_signatures_stay_on_their_part(
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
async def test_m2_function_calls_come_with_ids_arguments_and_signatures(
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


async def test_m2_calls_appear_in_the_whole_answer_only(server: ModelServer, gemini: Gemini) -> None:
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
async def test_m2_an_answer_cut_off_by_the_token_limit_is_an_answer(
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


async def test_e7_a_safety_block_in_the_middle_keeps_the_text_and_says_so(
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


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_m2_a_transient_failure_is_tried_again(
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
    assert (caught.value.code, caught.value.message) == ("RESOURCE_EXHAUSTED", "Quota is used up.")
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "failure",
    [
        Failure(http_status=429, retry_delay="0.2s"),
        Failure(http_status=503, retry_after="0.2", html="<html>Busy</html>"),
    ],
    ids=["RetryInfo", "Retry-After"],
)
async def test_m2_the_delay_that_the_server_asks_for_is_kept(
    server: ModelServer, gemini: Gemini, failure: Failure
) -> None:
    server.play(Turn(failure=failure), Turn(text=["Now."]))
    started = time.monotonic()
    assert texts(await answer(gemini)) == ["Now."]
    assert time.monotonic() - started >= 0.2


async def test_m2_a_delay_longer_than_the_limit_is_not_waited_for(
    server: ModelServer, gemini: Gemini
) -> None:
    failure = Failure(http_status=429, status="RESOURCE_EXHAUSTED", retry_delay="3600s")
    server.play(Turn(failure=failure), Turn(text=["Never asked for."]))
    with pytest.raises(ModelError, match="RESOURCE_EXHAUSTED"):
        await ask(gemini, question())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "code"), [(400, "INVALID_ARGUMENT"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND")]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_e7_a_wrong_request_is_not_tried_again(
    server: ModelServer, gemini: Gemini, status: int, code: str, stream: bool
) -> None:
    server.play(Turn(failure=Failure(http_status=status, status=code, message="No such thing.")))
    with pytest.raises(ModelError) as caught:
        await ask(gemini, question(), stream=stream)
    assert (caught.value.code, caught.value.message) == (code, "No such thing.")
    assert len(server.requests) == 1


async def test_e7_a_page_of_a_proxy_is_told_by_the_name_of_its_status(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(failure=Failure(http_status=403, html="<html>Go away</html>")))
    with pytest.raises(ModelError) as caught:
        await ask(gemini, question())
    assert caught.value.code == "PERMISSION_DENIED"


async def test_e7_a_server_that_is_not_there_is_unavailable(server: ModelServer, gemini: Gemini) -> None:
    nowhere = gemini.model_copy(update={"base_url": "http://127.0.0.1:1"})
    with pytest.raises(ModelError, match="UNAVAILABLE: The connection to the model failed"):
        await ask(nowhere, question())


@pytest.mark.parametrize("stream", [False, True])
async def test_m2_a_connection_that_breaks_before_the_answer_is_tried_again(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(Turn(ending="cut"), Turn(text=["Now."]))
    assert texts(await answer(gemini, stream=stream)) == ["Now."]


async def test_m2_a_cut_stream_ends_with_what_had_come_and_is_not_asked_for_again(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["The first ", "half"], ending="cut"), Turn(text=["Never asked for."]))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["The first half"]
    assert (final.error_code, final.partial) == ("STREAM_CUT", None)
    assert final.error_message == "The connection to the model broke in the middle of its answer."
    assert len(server.requests) == 1


async def test_m2_a_stream_that_ends_without_a_reason_counts_as_cut(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["The first half"], finish_reason=None))
    assert (await answer(gemini, stream=True)).error_code == "STREAM_CUT"


async def test_m2_the_function_calls_of_a_cut_answer_are_left_out(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["I will "], calls=[Call(name="pay")], ending="cut"))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["I will "]
    assert final.error_code == "STREAM_CUT"


async def test_e7_a_cut_answer_of_calls_alone_raises(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(calls=[Call(name="pay")], ending="cut"))
    with pytest.raises(ModelError, match="STREAM_CUT"):
        await ask(gemini, question(), stream=True)


async def test_e7_an_error_inside_the_stream_keeps_its_status(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=["The first half"], ending="error"))
    final = await answer(gemini, stream=True)
    assert texts(final) == ["The first half"]
    assert (final.error_code, final.error_message) == ("UNAVAILABLE", "The model is overloaded.")


@pytest.mark.parametrize("stream", [False, True])
async def test_m2_a_silent_model_runs_into_the_timeout(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    server.play(Turn(text=["Never sent."], hold_before=[0]))
    impatient = gemini.model_copy(update={"timeout": 0.05})
    with pytest.raises(ModelError, match="DEADLINE_EXCEEDED"):
        await ask(impatient, question(), stream=stream)
    async with asyncio.timeout(2):
        await server.requests[0].disconnected.wait()
    assert len(server.requests) == 1


async def test_m2_a_model_that_falls_silent_leaves_its_text_and_a_deadline_error(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["The first ", "half"], hold_before=[1]))
    final = await answer(gemini.model_copy(update={"timeout": 0.1}), stream=True)
    assert (texts(final), final.error_code) == (["The first "], "DEADLINE_EXCEEDED")


async def test_r2_closing_the_generator_closes_the_connection_at_once(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["first", "second"], hold_before=[1]))
    responses = gemini.generate_content_async(question(), stream=True)
    await anext(responses)
    await responses.aclose()
    async with asyncio.timeout(0.05):
        assert await server.requests[0].disconnected.wait()


@pytest.mark.parametrize("stream", [False, True])
async def test_r2_cancelling_the_caller_closes_the_connection_at_once(
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


async def test_m2_a_model_can_be_asked_from_one_event_loop_after_another(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(*[Turn(text=[text]) for text in ("first", "second", "third")])
    first = await answer(gemini)
    second = await asyncio.to_thread(lambda: asyncio.run(answer(gemini, stream=True)))
    third = await asyncio.to_thread(lambda: asyncio.run(answer(gemini)))
    assert [texts(response) for response in (first, second, third)] == [["first"], ["second"], ["third"]]


async def test_m2_many_answers_stream_side_by_side(server: ModelServer, gemini: Gemini) -> None:
    server.rule = lambda request: Turn(text=["held", request.last_content], hold_before=[1])

    async def converse(number: int) -> bool:
        return f"question {number}" in str(
            texts(await answer(gemini, question(f"question {number}"), stream=True))
        )

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(converse(number)) for number in range(120)]
        for _ in tasks:
            await server.next_request()
        for _ in tasks:
            server.release()
    assert all(task.result() for task in tasks)


async def test_m2_without_a_key_the_error_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigurationError, match="GOOGLE_API_KEY or GEMINI_API_KEY"):
        await ask(Gemini(), question())


@pytest.mark.parametrize("variable", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
async def test_m2_key_and_address_come_from_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(variable, "key-from-environment")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    server.play(Turn(text=["Yes."]))
    assert texts(await answer(Gemini(model="gemini-test"))) == ["Yes."]
    assert server.requests[0].headers["x-goog-api-key"] == "key-from-environment"


def test_m2_the_key_is_not_shown() -> None:
    gemini = Gemini(model="gemini-test", api_key="very-secret")
    assert "very-secret" not in repr(gemini)
    assert "very-secret" not in gemini.model_dump_json()


@pytest.mark.parametrize("stream", [False, True])
async def test_q13_the_request_reaches_the_server_as_the_api_writes_it(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    weather = types.FunctionDeclaration(name="get_weather", description="The weather.")
    call = types.FunctionCall(name="get_weather", args={"city_name": "Kyiv"})
    result = types.FunctionResponse(name="get_weather", response={"degrees_c": 20})
    contents = [
        user_says("Weather?"),
        types.Content(role="model", parts=[types.Part(function_call=call, thought_signature=b"\xfb\xff")]),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
        types.Content(role="user", parts=[types.Part.from_bytes(data=b"png", mime_type="image/png")]),
    ]
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        temperature=0.5,
        labels={"adk_agent_name": "root"},
        tools=[
            types.Tool(google_search=types.GoogleSearch()),
            types.Tool(function_declarations=[weather]),
        ],
        http_options=types.HttpOptions(headers={"x-own": "1"}),
    )
    server.play(Turn(text=["Warm."]))
    request = LlmRequest(model="gemini-other", contents=contents, config=config)
    await answer(gemini, request, stream=stream)

    sent = server.requests[0]
    assert (sent.model, sent.stream, sent.headers["x-own"]) == ("gemini-other", stream, "1")
    assert sent.headers["x-goog-api-key"] == "test-key"
    assert sent.body == {
        "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "generationConfig": {"temperature": 0.5},
        "labels": {"adk_agent_name": "root"},
        "tools": [
            {"googleSearch": {}},
            {"functionDeclarations": [{"name": "get_weather", "description": "The weather."}]},
        ],
        "contents": [
            {"role": "user", "parts": [{"text": "Weather?"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "get_weather", "args": {"city_name": "Kyiv"}},
                        "thoughtSignature": "-_8=",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "get_weather", "response": {"degrees_c": 20}}}],
            },
            {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "cG5n"}}]},
        ],
    }
    assert request.config.http_options == types.HttpOptions(headers={"x-own": "1"})


async def test_q13_an_output_schema_reaches_the_server(server: ModelServer, gemini: Gemini) -> None:
    server.play(Turn(text=['["Kyiv"]']))
    request = question()
    request.set_output_schema(list[str])
    await answer(gemini, request)
    config = server.requests[0].body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"]["type"] == "ARRAY"
    assert config["responseSchema"]["items"] == {"type": "STRING"}


async def test_m2_a_history_that_ends_with_the_model_is_sent_with_a_word_to_go_on(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["Done."]), Turn(text=["Begun."]))
    request = LlmRequest(contents=[user_says("Write."), model_says("A draft.")])
    await answer(gemini, request)
    await answer(gemini, LlmRequest())
    roles = [[content["role"] for content in sent.body["contents"]] for sent in server.requests]
    assert roles == [["user", "model", "user"], ["user"]]
    assert len(request.contents) == 2


async def test_m2_a_history_of_5000_contents_arrives_whole(server: ModelServer, gemini: Gemini) -> None:
    """What it costs is measured by `tests.benchmarks.requests`."""
    server.play(Turn(text=["Yes."]))
    contents = [user_says(f"Message {number}") for number in range(5_000)]
    await answer(gemini, LlmRequest(contents=contents), stream=True)
    sent = server.requests[0].body["contents"]
    assert [content["parts"][0]["text"] for content in sent] == [
        f"Message {number}" for number in range(5_000)
    ]


def test_q18_recent_models_take_a_schema_together_with_tools() -> None:
    assert Gemini(model="gemini-3.1-pro").capabilities.schema_with_tools
    assert Gemini(model="gemini-flash-latest").capabilities.schema_with_tools
    assert not Gemini(model="gemini-2.5-flash").capabilities.schema_with_tools
