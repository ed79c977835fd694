"""Contract of models: answers and requests (M2, E7, Q13). Run by test_models.py.

The fixtures are `server` (a scripted model server), `llm` (the model that asks it), and what the server must receive:
`weather_body` for `weather_request()`, `schema_body` (a part of the body) for an output schema.
"""

from __future__ import annotations

import json
from contextlib import aclosing

import pytest
from pydantic import BaseModel

from runtime import types
from runtime.models import BaseLlm, LlmRequest
from runtime.models.llm_response import why_stopped
from tests.contracts.model_calls import answer, ask, model_says, parts, question, texts, user_says
from tests.model_server import Call, Json, ModelServer, Turn


class City(BaseModel):
    """An output schema."""

    name: str
    people: int


def weather_request() -> LlmRequest:
    """Return a request with an instruction, an image, two parallel calls, their results and declared tools."""
    calls = [
        types.FunctionCall(name="get_weather", args={"city": city}, id=call_id)
        for city, call_id in (("Kyiv", "c1"), ("Łódź", None))
    ]
    results = [
        types.FunctionResponse(name="get_weather", response={"degrees_c": degrees}, id=call_id)
        for degrees, call_id in ((20, "c1"), (15, None))
    ]
    parameters = types.Schema(
        type=types.Type.OBJECT,
        properties={
            "city": types.Schema(type=types.Type.STRING, description="Its name."),
            "days": types.Schema(type=types.Type.INTEGER, nullable=True),
        },
        required=["city"],
    )
    image = types.Part.from_bytes(data=b"png", mime_type="image/png")
    config = types.GenerateContentConfig(
        system_instruction="Be brief.", temperature=0.5, max_output_tokens=500, stop_sequences=["END"]
    )
    declaration = types.FunctionDeclaration(
        name="get_weather", description="The weather.", parameters=parameters
    )
    config.tools = [types.Tool(function_declarations=[declaration])]
    return LlmRequest(
        model="other-model",
        contents=[
            types.Content(role="user", parts=[types.Part(text="Weather here?"), image]),
            types.Content(
                role="model",
                parts=[types.Part(text="I look."), *(types.Part(function_call=call) for call in calls)],
            ),
            types.Content(role="user", parts=[types.Part(function_response=result) for result in results]),
        ],
        config=config,
    )


class ModelAnswersContract:
    """Contract M2, E7: what a model's answers become."""

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_an_answer_has_content_usage_and_finish_reason(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        usage = {
            "promptTokenCount": 7,
            "candidatesTokenCount": 5,
            "totalTokenCount": 12,
            "cachedContentTokenCount": 3,
        }
        server.play(Turn(text=["Hello ", "world"], usage=usage))
        responses = await ask(llm, question(), stream=stream)
        assert len([response for response in responses if not response.partial]) == 1
        final = responses[-1]
        assert "".join(part.text or "" for part in parts(final)) == "Hello world"
        assert final.content is not None and final.content.role == "model"
        assert final.finish_reason is types.FinishReason.STOP
        assert final.error_code is None
        assert final.model_version is not None and final.model_version.endswith("-test-001")
        used = final.usage_metadata
        assert used is not None
        assert (used.prompt_token_count, used.candidates_token_count, used.total_token_count) == (7, 5, 12)
        assert used.cached_content_token_count == 3

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_thoughts_are_told_from_texts(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(thoughts=["Let me ", "think."], text=["It is ", "four."]))
        *partials, final = await ask(llm, question(), stream=stream)
        said = {True: "", False: ""}
        for part in parts(final):
            said[bool(part.thought)] += part.text or ""
        assert said == {True: "Let me think.", False: "It is four."}
        if stream:
            assert [part.thought for partial in partials for part in parts(partial)] == [
                True,
                True,
                None,
                None,
            ]
            assert [part.text for part in parts(final) if part.text] == ["Let me think.", "It is four."]

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_cited_pages_are_the_sources_of_their_passages(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        pages = {0: "https://a.example/", 2: "https://b.example/", 3: "https://a.example/"}
        server.play(Turn(text=["Früh 👍. ", "So. ", "日本。", "Ende."], pages=pages))
        final = await answer(llm, stream=stream)
        assert "".join(part.text or "" for part in parts(final)) == "Früh 👍. So. 日本。Ende."
        metadata = final.grounding_metadata
        assert metadata is not None
        chunks = metadata.grounding_chunks or []
        cited = []
        for support in metadata.grounding_supports or []:
            segment = support.segment
            assert segment is not None
            text = (parts(final)[segment.part_index or 0].text or "").encode()
            passage = text[segment.start_index or 0 : segment.end_index].decode()
            for index in support.grounding_chunk_indices or []:
                web = chunks[index].web
                assert web is not None and web.title == "A page"
                cited.append((passage, web.uri))
        assert cited == [
            ("Früh 👍. ", "https://a.example/"),
            ("日本。", "https://b.example/"),
            ("Ende.", "https://a.example/"),
        ]

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_parallel_calls_keep_order_and_arguments(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        """A provider's stream sends arguments in pieces, some providers alternate between the calls."""
        weather = {"city": "Łódź", "days": [1, 2], "units": {"wind": None}}
        server.play(
            Turn(
                text=["Wait."],
                calls=[Call(name="get_weather", args=weather, id="c1"), Call(name="get_time", id="c2")],
            )
        )
        final = await answer(llm, stream=stream)
        assert parts(final)[0].text == "Wait."
        assert [part.function_call for part in parts(final)[1:]] == [
            types.FunctionCall(id="c1", name="get_weather", args=weather),
            types.FunctionCall(id="c2", name="get_time", args={}),
        ]
        assert final.error_code is None

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_an_answer_of_calls_only_has_no_text(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(calls=[Call(name="get_time", id="c1")]))
        [final] = await ask(llm, question(), stream=stream)
        assert [bool(part.function_call) for part in parts(final)] == [True]

    async def test_m2_letters_that_the_network_cuts_in_half_arrive_whole(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["Grüße, ", "家族 👪"], split=1))
        *partials, final = await ask(llm, question(), stream=True)
        assert [texts(partial) for partial in partials] == [["Grüße, "], ["家族 👪"]]
        assert texts(final) == ["Grüße, 家族 👪"]

    @pytest.mark.parametrize("stream", [False, True])
    async def test_e7_a_refused_request_is_an_error_response(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(block_reason="SAFETY"))
        response = await answer(llm, stream=stream)
        assert response.error_code == "SAFETY"
        assert response.error_message is not None and response.error_message.startswith("The model ")

    async def test_m2_a_stream_yields_partial_responses_and_then_the_whole_answer(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["Hel", "lo ", "world"]))
        *partials, final = await ask(llm, question(), stream=True)
        assert [texts(partial) for partial in partials] == [["Hel"], ["lo "], ["world"]]
        assert all(partial.partial for partial in partials)
        assert final.partial is None
        assert texts(final) == ["Hello world"]
        assert final.finish_reason is types.FinishReason.STOP
        assert final.usage_metadata is not None and final.usage_metadata.total_token_count == 12

    async def test_m2_a_partial_response_is_yielded_before_the_next_piece_is_sent(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["first", "second"], hold_before=[1]))
        async with aclosing(llm.generate_content_async(question(), stream=True)) as responses:
            assert texts(await anext(responses)) == ["first"]
            server.release()
            assert texts(await anext(responses)) == ["second"]

    async def test_m2_calls_are_not_in_partial_responses(self, server: ModelServer, llm: BaseLlm) -> None:
        server.play(Turn(text=["Wait."], calls=[Call(name="get_time")]))
        *partials, _ = await ask(llm, question(), stream=True)
        assert [texts(partial) for partial in partials] == [["Wait."]]

    @pytest.mark.parametrize("stream", [False, True])
    async def test_m2_an_answer_cut_off_by_the_token_limit_is_no_error(
        self, server: ModelServer, llm: BaseLlm, stream: bool
    ) -> None:
        server.play(Turn(text=["Once upon"], finish_reason="MAX_TOKENS"))
        final = await answer(llm, stream=stream)
        assert texts(final) == ["Once upon"]
        assert final.finish_reason is types.FinishReason.MAX_TOKENS
        assert final.error_code is None

    async def test_e7_a_safety_block_in_the_middle_keeps_the_text_and_sets_the_error(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["The first ", "half"], finish_reason="SAFETY"))
        final = await answer(llm, stream=True)
        assert texts(final) == ["The first half"]
        assert (final.error_code, final.partial) == ("SAFETY", None)
        assert final.error_message == why_stopped(types.FinishReason.SAFETY)


class ModelRequestsContract:
    """Contract M2, Q13: what the provider receives."""

    @pytest.mark.parametrize("stream", [False, True])
    async def test_q13_a_request_arrives_in_the_json_of_the_provider(
        self, server: ModelServer, llm: BaseLlm, weather_body: Json, stream: bool
    ) -> None:
        server.play(Turn(text=["Warm."]))
        request = weather_request()
        await answer(llm, request, stream=stream)
        assert (server.requests[0].model, server.requests[0].stream) == ("other-model", stream)
        body = server.requests[0].body
        assert {name: body.get(name) for name in weather_body} == weather_body
        assert request == weather_request()

    async def test_q13_an_output_schema_arrives(
        self, server: ModelServer, llm: BaseLlm, schema_body: Json
    ) -> None:
        server.play(Turn(text=['{"name": "Kyiv", "people": 3}']))
        request = question()
        request.set_output_schema(City)
        final = await answer(llm, request)
        assert City.model_validate_json(texts(final)[0] or "").people == 3
        body = server.requests[0].body
        assert {name: body.get(name) for name in schema_body} == schema_body

    async def test_m2_the_key_is_sent_and_never_shown(self, server: ModelServer, llm: BaseLlm) -> None:
        server.play(Turn(text=["Yes."]))
        await answer(llm)
        assert "test-key" in json.dumps(server.requests[0].headers)
        assert "test-key" not in repr(llm) + llm.model_dump_json()

    async def test_m2_contents_end_with_the_user(self, server: ModelServer, llm: BaseLlm) -> None:
        """A draft that the model wrote itself is followed by a generic message."""
        server.play(Turn(text=["Done."]))
        request = LlmRequest(contents=[user_says("Write."), model_says("A draft.")])
        await answer(llm, request)
        body = server.requests[0].body
        assert (body.get("contents") or body["messages"])[-1]["role"] == "user"
        assert len(request.contents) == 2

    async def test_q13_half_a_character_arrives_as_a_replacement_character(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        """UTF-8 cannot hold a lone surrogate, and a provider refuses its escape in JSON."""
        half = "a\ud83d"
        call = types.FunctionCall(name="get_time", args={half: [half]}, id="c1")
        result = types.FunctionResponse(name="get_time", response={half: {"b": half}}, id="c1")
        contents = [
            user_says(half),
            types.Content(role="model", parts=[types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=result)]),
        ]
        request = LlmRequest(contents=contents)
        request.append_instructions([half])
        server.play(Turn(text=["Fine."]))
        assert texts(await answer(llm, request)) == ["Fine."]
        body = json.dumps(server.requests[0].body, ensure_ascii=False)
        assert body.count("a\ufffd") == 6
        assert "\ud83d" not in json.dumps(server.requests[0].body)
        assert request.contents == contents


class KeepAliveContract:
    """Contract M2: comments in a stream. Gemini's API sends none, and google-genai does not read them."""

    async def test_m2_comments_that_keep_the_connection_alive_are_skipped(
        self, server: ModelServer, llm: BaseLlm
    ) -> None:
        server.play(Turn(text=["Slow", "ly."], calls=[Call(name="get_time")], keep_alive=True))
        final = await answer(llm, stream=True)
        assert (texts(final)[0], final.error_code) == ("Slowly.", None)
