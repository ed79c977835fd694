"""Gemini's context cache: with `context_cache_config` the unchanged beginning of a session is sent once."""

from __future__ import annotations

import logging
import uuid
from contextlib import aclosing

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.context_cache_config import ContextCacheConfig
from runtime.apps import App
from runtime.models import Gemini, LlmRequest, LlmResponse
from runtime.runners import InMemoryRunner
from tests.model_server import Failure, ModelServer, Turn

FIRST = [("user", "What do you sell?"), ("model", "Lamps."), ("user", "How many?")]
SECOND = [*FIRST, ("model", "Nine."), ("user", "Which is the brightest?")]


@pytest.fixture
def gemini(gemini: Gemini) -> Gemini:
    """Return a model with its own account, because the process keeps its list of cached contents between tests."""
    return gemini.model_copy(update={"api_key": str(uuid.uuid4())})


def request(said: list[tuple[str, str]], **settings: int) -> LlmRequest:
    contents = [types.Content(role=role, parts=[types.Part(text=text)]) for role, text in said]
    search = types.FunctionDeclaration(name="search", description="Looks into the shelves.")
    config = types.GenerateContentConfig(
        system_instruction="You keep a shop.",
        temperature=0.5,
        tools=[types.Tool(function_declarations=[search])],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.AUTO)
        ),
    )
    return LlmRequest(contents=contents, config=config, cache_config=ContextCacheConfig(**settings))


async def ask(gemini: Gemini, server: ModelServer, asked: LlmRequest, stream: bool = False) -> LlmResponse:
    server.play(Turn(text=["Well"]))
    async with aclosing(gemini.generate_content_async(asked, stream=stream)) as responses:
        return [response async for response in responses][-1]


def sent_texts(body: dict[str, list[dict[str, list[dict[str, str]]]]]) -> list[str]:
    return [part["text"] for content in body["contents"] for part in content["parts"]]


def is_whole(server: ModelServer, index: int, said: list[tuple[str, str]]) -> bool:
    body = server.requests[index].body
    has_settings = {"systemInstruction", "tools", "toolConfig"} <= body.keys()
    return has_settings and "cachedContent" not in body and sent_texts(body) == [text for _, text in said]


@pytest.mark.parametrize("stream", [False, True])
async def test_contents_before_the_last_turn_are_cached_and_left_out_of_the_request(
    server: ModelServer, gemini: Gemini, stream: bool
) -> None:
    response = await ask(gemini, server, request(FIRST, ttl_seconds=60), stream)
    [cached] = server.cached
    assert cached["model"] == "models/gemini-test"
    assert cached["ttl"] == "60s"
    assert sent_texts(cached) == ["What do you sell?", "Lamps."]
    assert cached["systemInstruction"]["parts"] == [{"text": "You keep a shop."}]
    assert cached["tools"][0]["functionDeclarations"][0]["name"] == "search"
    assert cached["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    body = server.requests[0].body
    assert body["cachedContent"] == "cachedContents/1"
    assert not {"systemInstruction", "tools", "toolConfig"} & body.keys()
    assert sent_texts(body) == ["How many?"]
    assert body["generationConfig"]["temperature"] == 0.5
    assert response.content is not None and response.error_code is None


async def test_the_next_turn_reuses_the_cached_content_and_sends_the_rest(
    server: ModelServer, gemini: Gemini
) -> None:
    await ask(gemini, server, request(FIRST))
    await ask(gemini.model_copy(), server, request(SECOND))
    assert len(server.cached) == 1
    assert server.requests[1].body["cachedContent"] == "cachedContents/1"
    assert sent_texts(server.requests[1].body) == ["How many?", "Nine.", "Which is the brightest?"]


async def test_another_instruction_has_its_own_cached_content(server: ModelServer, gemini: Gemini) -> None:
    await ask(gemini, server, request(FIRST))
    changed = request(FIRST)
    changed.append_instructions(["Be brief."])
    await ask(gemini, server, changed)
    assert server.requests[1].body["cachedContent"] == "cachedContents/2"


async def test_another_account_has_its_own_cached_content(server: ModelServer, gemini: Gemini) -> None:
    await ask(gemini, server, request(FIRST))
    await ask(gemini.model_copy(update={"api_key": "another-key"}), server, request(FIRST))
    assert server.requests[1].body["cachedContent"] == "cachedContents/2"


async def test_a_cached_content_named_by_the_agent_is_used_unchanged(
    server: ModelServer, gemini: Gemini
) -> None:
    asked = request(FIRST)
    asked.config = types.GenerateContentConfig(cached_content="cachedContents/own")
    await ask(gemini, server, asked)
    assert server.cached == []
    assert server.requests[0].body["cachedContent"] == "cachedContents/own"


async def test_an_extra_body_of_the_agent_is_sent_with_model_calls_only(
    server: ModelServer, gemini: Gemini
) -> None:
    asked = request(FIRST)
    asked.config.http_options = types.HttpOptions(extra_body={"serviceTier": "flex"})
    await ask(gemini, server, asked)
    assert "serviceTier" not in server.cached[0]
    assert server.requests[0].body["serviceTier"] == "flex"
    assert sent_texts(server.requests[0].body) == ["How many?"]


async def test_a_function_response_belongs_to_the_turn_of_its_call(
    server: ModelServer, gemini: Gemini
) -> None:
    asked = request(FIRST)
    call = types.Part.from_function_call(name="search", args={})
    response = types.Part.from_function_response(name="search", response={"lamps": 9})
    asked.contents += [
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[response]),
    ]
    await ask(gemini, server, asked)
    assert sent_texts(server.cached[0]) == ["What do you sell?", "Lamps."]
    assert len(server.requests[0].body["contents"]) == 3


async def test_the_cached_content_is_renewed_after_cache_intervals(
    server: ModelServer, gemini: Gemini
) -> None:
    for said in (FIRST, FIRST, SECOND):
        await ask(gemini, server, request(said, cache_intervals=2))
    names = [asked.body["cachedContent"] for asked in server.requests]
    assert names == ["cachedContents/1", "cachedContents/1", "cachedContents/2"]
    assert sent_texts(server.requests[2].body) == ["Which is the brightest?"]


async def test_the_cached_content_is_renewed_when_it_has_expired(server: ModelServer, gemini: Gemini) -> None:
    server.cache_expires = "2001-01-01T00:00:00Z"
    await ask(gemini, server, request(FIRST))
    await ask(gemini, server, request(SECOND))
    assert server.requests[1].body["cachedContent"] == "cachedContents/2"


async def test_a_context_below_min_tokens_is_not_cached(server: ModelServer, gemini: Gemini) -> None:
    await ask(gemini, server, request(FIRST, min_tokens=500))
    assert server.cached == []
    assert is_whole(server, 0, FIRST)
    long = [("user", "word " * 500), *FIRST[1:]]
    await ask(gemini, server, request(long, min_tokens=500))
    assert len(server.cached) == 1


async def test_a_request_without_a_cache_config_is_sent_whole(server: ModelServer, gemini: Gemini) -> None:
    asked = request(FIRST)
    asked.cache_config = None
    await ask(gemini, server, asked)
    assert server.cached == []
    assert is_whole(server, 0, FIRST)


async def test_a_first_message_without_instruction_and_tools_is_not_cached(
    server: ModelServer, gemini: Gemini
) -> None:
    asked = request(FIRST[:1])
    asked.config = types.GenerateContentConfig()
    await ask(gemini, server, asked)
    assert server.cached == []
    assert sent_texts(server.requests[0].body) == ["What do you sell?"]


async def test_a_refused_context_is_sent_whole_and_not_offered_again_immediately(
    server: ModelServer, gemini: Gemini, caplog: pytest.LogCaptureFixture
) -> None:
    server.cache_failure = Failure(http_status=400, status="INVALID_ARGUMENT", message="Too small.")
    with caplog.at_level(logging.WARNING):
        for said in (FIRST, SECOND):
            response = await ask(gemini, server, request(said, cache_intervals=2))
            assert response.error_code is None
    assert is_whole(server, 0, FIRST) and is_whole(server, 1, SECOND)
    assert len(server.cached) == 1
    assert "Too small." in caplog.text
    server.cache_failure = None
    await ask(gemini, server, request(SECOND, cache_intervals=2))
    assert server.requests[2].body["cachedContent"] == "cachedContents/2"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("http_status", "status"), [(403, "PERMISSION_DENIED"), (404, "NOT_FOUND")])
async def test_an_expired_cached_content_is_replaced_by_the_whole_request(
    server: ModelServer, gemini: Gemini, stream: bool, http_status: int, status: str
) -> None:
    server.play(Turn(failure=Failure(http_status=http_status, status=status)))
    response = await ask(gemini, server, request(FIRST), stream)
    assert response.error_code is None
    assert "cachedContent" in server.requests[0].body
    assert is_whole(server, 1, FIRST)
    await ask(gemini, server, request(FIRST), stream)
    assert server.requests[2].body["cachedContent"] == "cachedContents/2"


async def test_the_cache_config_of_the_app_reaches_the_model(server: ModelServer, gemini: Gemini) -> None:
    agent = LlmAgent(name="keeper", model=gemini, instruction="You keep a shop.")
    runner = InMemoryRunner(app=App(name="shop", root_agent=agent, context_cache_config=ContextCacheConfig()))
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    for text in ("Hi", "How many?"):
        server.play(Turn(text=["Well"]))
        message = types.Content(role="user", parts=[types.Part(text=text)])
        run = runner.run_async(user_id="ada", session_id=session.id, new_message=message)
        async with aclosing(run) as events:
            assert [event.error_code async for event in events] == [None]
    assert len(server.cached) == 1
    assert [asked.body["cachedContent"] for asked in server.requests] == ["cachedContents/1"] * 2
    assert sent_texts(server.requests[1].body) == ["Hi", "Well", "How many?"]
