"""Contract M3: servers that imitate a provider leave fields out, send null or another type, or end an answer twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

from runtime import types
from runtime.models import LlmRequest, anthropic_response, openai_response
from runtime.models.anthropic_response import MessageEvents
from runtime.models.openai_request import as_chat_completion
from runtime.models.openai_response import ChatChunks
from runtime.models.request_contents import without_foreign_signatures
from tests.contracts.model_calls import model_says, user_says

CALL = {"id": "c1", "function": {"name": "pay", "arguments": '{"amount": 1}'}}
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def chat_answer(**message: Any) -> types.GenerateContentResponse:
    usage = message.pop("usage", None)
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return openai_response.whole_response(ChatCompletion.construct(model="m", choices=[choice], usage=usage))


def chat_stream(*deltas: dict[str, Any]) -> list[types.GenerateContentResponse]:
    chunks = ChatChunks()
    responses = []
    for delta in deltas:
        finish_reason = delta.pop("finish_reason", None)
        usage = delta.pop("usage", None)
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        chunk = ChatCompletionChunk.construct(model="m", choices=[choice], usage=usage)
        responses.append(chunks.convert(chunk))
    return [response for response in responses if response is not None]


def calls_of(*responses: types.GenerateContentResponse) -> list[tuple[str | None, Any]]:
    calls = []
    for response in responses:
        content = (response.candidates or [types.Candidate()])[0].content
        for part in (content and content.parts) or []:
            if part.function_call:
                calls.append((part.function_call.name, part.function_call.args))
    return calls


@pytest.mark.parametrize(
    "usage", [None, {}, {"total_tokens": 3}, {"prompt_tokens": None, "completion_tokens": None}]
)
def test_missing_and_null_token_counts_lose_no_answer(usage: Any) -> None:
    assert chat_answer(content="Hi.", usage=usage).text == "Hi."
    streamed = chat_stream({"content": "Hi."}, {"finish_reason": "stop", "usage": usage})
    assert streamed[0].text == "Hi."
    message = Message.construct(model="m", content=[{"type": "text", "text": "Hi."}], usage=usage)
    assert anthropic_response.whole_response(message).text == "Hi."


def test_content_may_be_a_list_of_parts_and_a_call_without_a_type() -> None:
    answer = chat_answer(content=[{"type": "text", "text": "Hi"}, {"type": "text", "text": "."}])
    assert answer.text == "Hi."
    assert calls_of(chat_answer(content=None, tool_calls=[CALL])) == [("pay", {"amount": 1})]


@pytest.mark.parametrize("arguments", [{"amount": 1}, '{"amount": 1}'])
def test_arguments_may_be_an_object(arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": arguments}}
    assert calls_of(chat_answer(tool_calls=[call])) == [("pay", {"amount": 1})]
    streamed = chat_stream({"tool_calls": [{"index": 0, **call}]}, {"finish_reason": "tool_calls"})
    assert calls_of(*streamed) == [("pay", {"amount": 1})]


def test_a_second_finish_reason_does_not_run_the_calls_again() -> None:
    streamed = chat_stream(
        {"tool_calls": [{"index": 0, **CALL}]}, {"finish_reason": "tool_calls"}, {"finish_reason": "stop"}
    )
    assert calls_of(*streamed) == [("pay", {"amount": 1})]


def claude_stream(block: dict[str, Any], *rest: dict[str, Any]) -> list[types.GenerateContentResponse]:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}
    events = MessageEvents()
    begun = {"type": "content_block_start", "index": 0, "content_block": block}
    responses = [events.convert(EVENT.validate_python(event)) for event in (start, begun, *rest, end, end)]
    return [response for response in responses if response is not None]


@pytest.mark.parametrize(
    ("given", "args"),
    [({}, {}), (None, {}), ({"amount": 1}, {"amount": 1}), ('{"amount": 1}', {"amount": 1})],
)
def test_the_input_of_a_call_of_claude_may_be_null_text_or_whole_at_the_beginning(
    given: Any, args: dict[str, Any]
) -> None:
    block = {"type": "tool_use", "id": "c1", "name": "pay", "input": given, "caller": {"type": "direct"}}
    message = Message.construct(model="m", content=[block], stop_reason="tool_use")
    assert calls_of(anthropic_response.whole_response(message)) == [("pay", args)]
    if given is None or isinstance(given, dict):
        assert calls_of(*claude_stream({**block, "input": given or {}})) == [("pay", args)]


def test_thoughts_of_calls_go_back_to_the_server_that_wants_them() -> None:
    first = chat_answer(reasoning_content="Look it up.", tool_calls=[CALL])
    assert first.candidates and first.candidates[0].content
    earlier = chat_answer(reasoning_content="Old.", tool_calls=[CALL]).candidates[0].content  # type: ignore[index]
    assert earlier
    contents = [user_says("a"), earlier, model_says("b"), user_says("pay"), first.candidates[0].content]
    sent = as_chat_completion(LlmRequest(contents=contents), "m", "max_tokens")["messages"]
    assert [message.get("reasoning_content") for message in sent if message.get("tool_calls")] == [
        None,
        "Look it up.",
    ]
    assert all(
        part.text or part.function_call
        for each in without_foreign_signatures(contents)
        for part in each.parts or []
    )


def test_googles_signature_of_a_call_goes_back() -> None:
    signed = {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}
    answer = chat_answer(tool_calls=[signed]).candidates[0].content  # type: ignore[index]
    assert answer
    request = LlmRequest(contents=[user_says("pay"), answer])
    (call,) = as_chat_completion(request, "m", "max_tokens")["messages"][1]["tool_calls"]
    assert call["extra_content"] == signed["extra_content"]
    (own,) = without_foreign_signatures([answer])
    assert own.parts and own.parts[0].function_call and own.parts[0].thought_signature is None


PIECES = st.lists(
    st.sampled_from(
        [
            {"content": "a"},
            {"content": None},
            {"content": [{"text": "b"}, None, 5]},
            {"reasoning_content": "c"},
            {"refusal": None, "tool_calls": None},
            {"tool_calls": [{"index": 0, **CALL}]},
            {"tool_calls": [{"index": None, "id": None, "function": None}]},
            {"finish_reason": "stop"},
            {"finish_reason": "tool_calls", "usage": {"prompt_tokens": "many"}},
            {"finish_reason": "length", "usage": {}},
        ]
    ),
    max_size=8,
)


@settings(deadline=None)
@given(PIECES)
def test_no_order_of_pieces_runs_a_call_twice(pieces: list[dict[str, Any]]) -> None:
    streamed = chat_stream(*json.loads(json.dumps(pieces)))
    assert len(calls_of(*streamed)) <= sum("tool_calls" in piece for piece in pieces)
