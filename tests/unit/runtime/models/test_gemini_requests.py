"""Requests of `Gemini` as they reach the server, its clients and its settings (contract M2, Q13, Q18)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime import types
from runtime.errors import ConfigurationError
from runtime.models import Gemini, LlmRequest
from tests.contracts.model_calls import answer, ask, question, texts, user_says
from tests.model_server import ModelServer, Turn


async def test_m2_a_model_works_in_one_event_loop_after_another(server: ModelServer, gemini: Gemini) -> None:
    server.play(*[Turn(text=[text]) for text in ("first", "second", "third")])
    first = await answer(gemini)
    second = await asyncio.to_thread(lambda: asyncio.run(answer(gemini, stream=True)))
    third = await asyncio.to_thread(lambda: asyncio.run(answer(gemini)))
    assert [texts(response) for response in (first, second, third)] == [["first"], ["second"], ["third"]]


async def test_m2_many_answers_stream_concurrently(server: ModelServer, gemini: Gemini) -> None:
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
async def test_m2_key_and_url_are_read_from_the_environment(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv(variable, "key-from-environment")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    server.play(Turn(text=["Yes."]))
    assert texts(await answer(Gemini(model="gemini-test"))) == ["Yes."]
    assert server.requests[0].headers["x-goog-api-key"] == "key-from-environment"


EXPECTED_BODY: dict[str, Any] = {
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


@pytest.mark.parametrize("stream", [False, True])
async def test_q13_the_request_arrives_in_the_json_of_the_api(
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
    assert sent.body == EXPECTED_BODY
    assert request.config.http_options == types.HttpOptions(headers={"x-own": "1"})


async def test_m2_a_request_without_contents_is_sent_with_a_user_message(
    server: ModelServer, gemini: Gemini
) -> None:
    server.play(Turn(text=["Begun."]))
    await answer(gemini, LlmRequest())
    assert [content["role"] for content in server.requests[0].body["contents"]] == ["user"]


async def test_m2_a_request_of_5000_contents_arrives_complete(server: ModelServer, gemini: Gemini) -> None:
    """`tests.benchmarks.requests` measures the time."""
    server.play(Turn(text=["Yes."]))
    contents = [user_says(f"Message {number}") for number in range(5_000)]
    await answer(gemini, LlmRequest(contents=contents), stream=True)
    sent = server.requests[0].body["contents"]
    assert [content["parts"][0]["text"] for content in sent] == [
        f"Message {number}" for number in range(5_000)
    ]


def test_q18_recent_models_accept_a_schema_together_with_tools() -> None:
    assert Gemini(model="gemini-3.1-pro").capabilities.schema_with_tools
    assert Gemini(model="gemini-flash-latest").capabilities.schema_with_tools
    assert not Gemini(model="gemini-2.5-flash").capabilities.schema_with_tools
