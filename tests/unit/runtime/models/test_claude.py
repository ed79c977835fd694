"""`Claude` beyond the contract of models: thoughts with signatures, names, limits (contract M3)."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from runtime import types
from runtime.errors import ConfigurationError, ModelError
from runtime.models import Claude, LLMRegistry, LlmRequest
from runtime.models.anthropic_client import MessageEvents
from runtime.models.anthropic_request import as_message
from tests.contracts.model_calls import answer, ask, model_says, parts, question, user_says
from tests.model_server import Call, Failure, Json, ModelServer, Turn

EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


@pytest.fixture
def llm(server: ModelServer) -> Claude:
    return Claude(model="claude-test", api_key="test-key", base_url=server.url, timeout=10)


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-5-5", "claude-opus-5"])
async def test_m3_a_name_resolves_to_claude_and_its_prefix_is_not_sent(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    server.play(Turn(text=["Hi."]))
    await answer(LLMRegistry.new_llm(name))
    assert server.requests[0].model == name.removeprefix("anthropic/")
    assert "from-environment" in " ".join(server.requests[0].headers.values())


async def test_m3_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="Set ANTHROPIC_API_KEY in the environment"):
        await ask(Claude(), question())
    assert "No API key" in Claude().setup_problems()[0].problem


@pytest.mark.parametrize("stream", [False, True])
async def test_m3_a_thought_is_sent_back_with_its_signature(
    server: ModelServer, llm: Claude, stream: bool
) -> None:
    server.play(
        Turn(thoughts=["Let me ", "look."], text=["Wait."], calls=[Call(name="f", id="c1")]),
        Turn(text=["Done."]),
    )
    first = await answer(llm, stream=stream)
    assert first.content is not None
    result = types.FunctionResponse(name="f", id="c1", response={"n": 1})
    turn_2 = types.Content(role="user", parts=[types.Part(function_response=result)])
    stored = types.Content.model_validate_json(first.content.model_dump_json())
    await answer(llm, LlmRequest(contents=[user_says("Hi"), stored, turn_2]), stream=stream)
    assert server.requests[1].body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me look.", "signature": "signed"},
        {"type": "text", "text": "Wait."},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
    ]


def test_m3_thoughts_of_other_models_are_left_out_and_redacted_ones_return() -> None:
    thoughts = [
        types.Part(text="Gemini thinks.", thought=True, thought_signature=b"foreign"),
        types.Part(text="Unsigned.", thought=True),
        types.Part(text="Answer."),
    ]
    redacted = events({"type": "redacted_thinking", "data": "xyz"}, [])[0]
    assert redacted is not None and redacted.candidates is not None
    content = redacted.candidates[0].content
    assert content is not None
    request = LlmRequest(contents=[types.Content(role="model", parts=thoughts), user_says("?"), content])
    sent = as_message(request, "claude", 100)["messages"]
    assert sent[0]["content"] == [{"type": "text", "text": "Answer."}]
    assert sent[2]["content"] == [{"type": "redacted_thinking", "data": "xyz"}]


@pytest.mark.parametrize(
    ("given", "sent", "limit"),
    [
        ({"thinking_budget": 2000}, {"type": "enabled", "budget_tokens": 2000}, 2100),
        ({"thinking_budget": 0}, {"type": "disabled"}, 100),
        ({"include_thoughts": True}, {"type": "adaptive", "display": "summarized"}, 100),
    ],
)
def test_m3_the_thinking_config_is_translated(given: Json, sent: Json, limit: int) -> None:
    config = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(**given))
    message = as_message(LlmRequest(config=config), "claude", 100)
    assert (message["thinking"], message["max_tokens"]) == (sent, limit)


def test_m3_contents_of_one_role_become_one_message() -> None:
    contents = [user_says("One."), user_says("Two."), model_says("Three."), user_says("Four.")]
    sent = as_message(LlmRequest(contents=contents), "claude", 100)["messages"]
    assert [(message["role"], len(message["content"])) for message in sent] == [
        ("user", 2),
        ("assistant", 1),
        ("user", 1),
    ]


async def test_m3_an_overloaded_server_is_asked_again(server: ModelServer, llm: Claude) -> None:
    retry = types.HttpRetryOptions(attempts=2, initial_delay=0.001, jitter=0)
    overloaded = Turn(failure=Failure(http_status=529, message="Overloaded"))
    server.play(overloaded, Turn(ending="error"), Turn(text=["Never asked."]))
    with pytest.raises(ModelError, match="UNAVAILABLE: The model is overloaded"):
        await ask(llm.model_copy(update={"retry_options": retry}), question(), stream=True)
    assert len(server.requests) == 2


def test_e7_a_call_with_arguments_that_break_off_is_left_out() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "pay", "input": {}}
    last = events(call, [{"type": "input_json_delta", "partial_json": '{"sum": '}])[-1]
    assert last is not None and last.candidates is not None
    assert last.candidates[0].content is None
    assert last.candidates[0].finish_reason is types.FinishReason.MALFORMED_FUNCTION_CALL


def events(block: Json, deltas: list[Json]) -> list[types.GenerateContentResponse | None]:
    """Convert the events of a message with one block."""
    converter = MessageEvents()
    end = {"delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 1}}
    stream: list[Json] = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", **end},
    ]
    return [converter.convert(EVENT.validate_python(event)) for event in stream]


async def test_m3_parts_of_a_whole_thought_carry_its_signature(server: ModelServer, llm: Claude) -> None:
    server.play(Turn(thoughts=["Hm."], text=["Yes."]))
    thought, said = parts(await answer(llm))
    assert (thought.text, thought.thought, thought.thought_signature) == ("Hm.", True, b"claude:signed")
    assert said.text == "Yes."


@pytest.mark.parametrize("stream", [False, True])
async def test_the_authors_own_client_is_called(server: ModelServer, stream: bool) -> None:
    async with AsyncAnthropic(api_key="own-key", base_url=server.url) as client:
        llm = Claude(model="claude-test", api_key="other-key", client=client)
        assert llm.setup_problems() == []
        server.play(Turn(text=["Hi."]))
        await answer(llm, stream=stream)
    headers = server.requests[0].headers
    assert "own-key" in headers.get("x-api-key", headers.get("authorization", ""))
