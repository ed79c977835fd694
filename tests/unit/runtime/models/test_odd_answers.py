"""Contract M3: servers that imitate a provider leave fields out, send null or another type, or end an answer twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import (
    Message,
    RawContentBlockDeltaEvent,
    RawContentBlockStartEvent,
    RawContentBlockStopEvent,
    RawMessageDeltaEvent,
    RawMessageStreamEvent,
)
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

from runtime import types
from runtime.models import LlmRequest, anthropic_client, openai_client
from runtime.models.anthropic_client import MessageEvents
from runtime.models.openai_client import ChatChunks
from runtime.models.openai_request import as_chat_completion
from runtime.models.request_contents import without_foreign_signatures
from tests.contracts.model_calls import model_says, user_says

CALL = {"id": "c1", "function": {"name": "pay", "arguments": '{"amount": 1}'}}
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def chat_answer(**message: Any) -> types.GenerateContentResponse:
    usage = message.pop("usage", None)
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return openai_client.whole_response(ChatCompletion.construct(model="m", choices=[choice], usage=usage))


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
    assert anthropic_client.whole_response(message).text == "Hi."


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


def as_event(event: dict[str, Any]) -> Any:
    """Return an event as the client makes it, which checks no values."""
    kinds: dict[str, Any] = {
        "content_block_start": RawContentBlockStartEvent,
        "content_block_delta": RawContentBlockDeltaEvent,
        "content_block_stop": RawContentBlockStopEvent,
        "message_delta": RawMessageDeltaEvent,
    }
    return kinds[event["type"]].construct(**event)


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
    assert calls_of(anthropic_client.whole_response(message)) == [("pay", args)]
    if given is None or isinstance(given, dict):
        assert calls_of(*claude_stream({**block, "input": given or {}})) == [("pay", args)]


PAGE = {"url": "https://a.example/", "title": "A page"}


def sources_of(response: types.GenerateContentResponse) -> tuple[list[str | None], list[str | None]]:
    """Return the addresses of the sources, and the passages that cite some."""
    metadata = (response.candidates or [types.Candidate()])[0].grounding_metadata
    if metadata is None:
        return [], []
    addresses = []
    for chunk in metadata.grounding_chunks or []:
        place = chunk.web or chunk.retrieved_context
        assert place is not None
        addresses.append(place.uri)
    passages = []
    for support in metadata.grounding_supports or []:
        assert support.segment is not None
        passages.append(support.segment.text)
    return addresses, passages


@pytest.mark.parametrize(
    ("annotations", "sources"),
    [
        ([{"url_citation": {**PAGE, "start_index": 0, "end_index": 2}}], ([PAGE["url"]], ["Hi"])),
        ([{"url_citation": {**PAGE, "start_index": 2, "end_index": 99}}], ([PAGE["url"]], [])),
        ([{"url_citation": {**PAGE, "start_index": -1, "end_index": 2}}], ([PAGE["url"]], [])),
        ([{"url_citation": {**PAGE, "start_index": "0", "end_index": None}}], ([PAGE["url"]], [])),
        ([{"url_citation": PAGE}, {"url_citation": PAGE}], ([PAGE["url"]], [])),
        (
            [{"url_citation": {"url": 1}}, {"url_citation": None}, {"type": "file_citation"}, 1, None],
            ([], []),
        ),
        ("none", ([], [])),
        (None, ([], [])),
    ],
)
def test_annotations_of_a_wrong_shape_lose_no_answer(
    annotations: Any, sources: tuple[list[str], list[str]]
) -> None:
    answer = chat_answer(content="Hi.", annotations=annotations)
    assert answer.text == "Hi." and sources_of(answer) == sources
    first, last = chat_stream({"content": "Hi."}, {"annotations": annotations, "finish_reason": "stop"})
    assert first.text == "Hi." and sources_of(last) == sources


DOCUMENT = {"type": "page_location", "document_title": "Manual", "cited_text": "…"}
RESULT = {"type": "search_result_location", "source": "https://b.example/", "title": "B"}


@pytest.mark.parametrize(
    ("citations", "sources"),
    [
        ([{"type": "web_search_result_location", **PAGE}], ([PAGE["url"]], ["Hi."])),
        ([DOCUMENT, RESULT], ([None, "https://b.example/"], ["Hi."])),
        ([{"type": "web_search_result_location", "url": 1, "title": None}], ([], [])),
        ([{"type": "unheard_of"}, {}], ([], [])),
        (None, ([], [])),
    ],
)
def test_citations_of_a_wrong_shape_lose_no_answer(
    citations: Any, sources: tuple[list[str], list[str]]
) -> None:
    block = {"type": "text", "text": "Hi.", "citations": citations}
    message = Message.construct(model="m", content=[block], stop_reason="end_turn")
    answer = anthropic_client.whole_response(message)
    assert answer.text == "Hi." and sources_of(answer) == sources
    events = MessageEvents()
    begun: dict[str, Any] = {"type": "content_block_start", "content_block": {"type": "text", "text": ""}}
    said: dict[str, Any] = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi."}}
    deltas = [{"type": "citations_delta", "citation": citation} for citation in citations or []]
    cited = [{"type": "content_block_delta", "delta": delta} for delta in deltas]
    end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    given = [begun, said, *cited, {"type": "content_block_stop"}, end]
    responses = [events.convert(as_event(event)) for event in given]
    assert responses[1] and responses[1].text == "Hi."
    assert responses[-1] and sources_of(responses[-1]) == sources


def test_pages_that_claude_has_found_are_sources_without_citations() -> None:
    found = {"type": "web_search_result", "page_age": None, "encrypted_content": "x", **PAGE}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found, {"url": 1}]}
    text = {"type": "text", "text": "Hi."}
    message = Message.construct(model="m", content=[result, text], stop_reason="end_turn")
    assert sources_of(anthropic_client.whole_response(message)) == ([PAGE["url"]], [])
    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    message = Message.construct(model="m", content=[{**result, "content": failed}, text])
    assert sources_of(anthropic_client.whole_response(message)) == ([], [])


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


@given(PIECES)
def test_no_order_of_pieces_runs_a_call_twice(pieces: list[dict[str, Any]]) -> None:
    streamed = chat_stream(*json.loads(json.dumps(pieces)))
    assert len(calls_of(*streamed)) <= sum("tool_calls" in piece for piece in pieces)
