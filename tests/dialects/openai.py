"""The chat completions protocol (https://platform.openai.com/docs/api-reference/chat)."""

from __future__ import annotations

import json
from itertools import zip_longest

from tests.dialects.dialect import cut_up, sse
from tests.model_script import Call, Failure, Json, Turn

_FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}
_ARGUMENT_PIECE = 3


class OpenAIDialect:
    """Chunks as OpenAI, vLLM and OpenRouter send them; thoughts are `reasoning_content`."""

    def stream_pieces(self, turn: Turn) -> list[bytes]:
        role = [_chunk({"role": "assistant", "content": ""})]
        pieces = [[_chunk({"reasoning_content": text})] for text in turn.thoughts]
        pieces += [[_chunk({"content": text})] for text in turn.text]
        if turn.pages:
            pieces[-1].append(_chunk({"annotations": _annotations(turn)}))
        if turn.block_reason is not None:
            pieces = [[_chunk({"refusal": text})] for text in ("I cannot ", "help with that.")]
        if turn.calls:
            pieces.append([_chunk({"tool_calls": delta}) for delta in _call_deltas(turn.calls)])
        pieces = pieces or [[]]
        pieces[0] = role + pieces[0]
        if turn.ending == "proper":
            usage = {**_chunk({}), "choices": [], "usage": _usage(turn)}
            finish = [_chunk({}, _finish_reason(turn))] if turn.finish_reason else []
            pieces[-1] += [*finish, usage]
        encoded = [b"".join(map(sse, chunks)) for chunks in pieces]
        if turn.ending == "proper":
            encoded[-1] += b"data: [DONE]\r\n\r\n"
        return encoded

    def stream_error(self) -> bytes:
        return sse({"error": {"code": 503, "message": "The model is overloaded."}})

    def whole(self, turn: Turn) -> Json:
        message: Json = {"role": "assistant", "content": "".join(turn.text) or None}
        if turn.thoughts:
            message["reasoning_content"] = "".join(turn.thoughts)
        if turn.pages:
            message["annotations"] = _annotations(turn)
        if turn.calls:
            message["tool_calls"] = [
                {**_call(call, number), "function": {"name": call.name, "arguments": json.dumps(call.args)}}
                for number, call in enumerate(turn.calls)
            ]
        if turn.block_reason is not None:
            message["refusal"] = "I cannot help with that."
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(turn)}
        return {**_envelope("chat.completion"), "choices": [choice], "usage": _usage(turn)}

    def failure(self, failure: Failure) -> Json:
        return {"error": {"message": failure.message, "type": "error", "code": failure.status, "param": None}}


def _annotations(turn: Turn) -> list[Json]:
    """Return the cited pages; positions count characters."""
    annotations = []
    for index, url in turn.pages.items():
        start = len("".join(turn.text[:index]))
        end = start + len(turn.text[index])
        citation = {"url": url, "title": "A page", "start_index": start, "end_index": end}
        annotations.append({"type": "url_citation", "url_citation": citation})
    return annotations


def _call_deltas(calls: list[Call]) -> list[list[Json]]:
    """Return the heads of all calls, then their arguments in pieces that alternate between the calls."""
    heads: list[list[Json]] = [
        [{**_call(call, number), "index": number, "function": {"name": call.name, "arguments": ""}}]
        for number, call in enumerate(calls)
    ]
    rounds = zip_longest(*(cut_up(json.dumps(call.args), _ARGUMENT_PIECE) for call in calls))
    return heads + [
        [{"index": number, "function": {"arguments": piece}} for number, piece in enumerate(pieces) if piece]
        for pieces in rounds
    ]


def _call(call: Call, number: int) -> Json:
    return {"id": call.id or f"call_{number}", "type": "function"}


def _chunk(delta: Json, finish_reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_envelope("chat.completion.chunk"), "choices": [choice]}


def _envelope(kind: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "gpt-test-001"}


def _finish_reason(turn: Turn) -> str | None:
    if turn.calls and turn.finish_reason == "STOP":
        return "tool_calls"
    return _FINISH_REASONS.get(turn.finish_reason or "")


def _usage(turn: Turn) -> Json:
    return {
        "prompt_tokens": turn.usage["promptTokenCount"],
        "completion_tokens": turn.usage["candidatesTokenCount"] + turn.usage.get("thoughtsTokenCount", 0),
        "total_tokens": turn.usage["totalTokenCount"],
        "prompt_tokens_details": {"cached_tokens": turn.usage.get("cachedContentTokenCount", 0)},
        "completion_tokens_details": {"reasoning_tokens": turn.usage.get("thoughtsTokenCount", 0)},
    }
