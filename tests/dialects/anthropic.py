"""Anthropic's messages protocol (https://docs.anthropic.com/en/docs/build-with-claude/streaming)."""

from __future__ import annotations

import json

from tests.dialects.dialect import cut_up, sse
from tests.model_script import Call, Failure, Json, Turn

_STOP_REASONS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}
_ARGUMENT_PIECE = 3


class AnthropicDialect:
    """Events as Anthropic sends them: a block for all thoughts, one for all texts and one for each call."""

    def stream_pieces(self, turn: Turn) -> list[bytes]:
        blocks = _blocks(turn)
        pieces: list[list[Json]] = []
        for index, (block, deltas, closing) in enumerate(blocks):
            groups = [[_delta(index, delta)] for delta in deltas] or [[]]
            groups[0].insert(0, {"type": "content_block_start", "index": index, "content_block": block})
            groups[-1] += [_delta(index, delta) for delta in closing]
            groups[-1].append({"type": "content_block_stop", "index": index})
            if block["type"] == "tool_use":
                groups = [[event for group in groups for event in group]]
                if pieces and blocks[index - 1][0]["type"] == "tool_use":
                    pieces[-1] += groups.pop()
            pieces += groups
        pieces = pieces or [[]]
        pieces[0] = [_message_start(turn), {"type": "ping"}, *pieces[0]]
        if turn.ending == "proper":
            pieces[-1] += _message_end(turn)
        return [b"".join(sse(event, event["type"]) for event in events) for events in pieces]

    def stream_error(self) -> bytes:
        error = {"type": "overloaded_error", "message": "The model is overloaded."}
        return sse({"type": "error", "error": error}, "error")

    def whole(self, turn: Turn) -> Json:
        content = [_whole_block(block, deltas + closing) for block, deltas, closing in _blocks(turn)]
        usage = {**_prompt_usage(turn), "output_tokens": _output_tokens(turn)}
        return {**_message(turn), "content": content, "stop_reason": _stop_reason(turn), "usage": usage}

    def failure(self, failure: Failure) -> Json:
        return {"type": "error", "error": {"type": "error", "message": failure.message}}


Block = tuple[Json, list[Json], list[Json]]
"""The start of a block, its deltas, and those that close it."""


def _blocks(turn: Turn) -> list[Block]:
    blocks: list[Block] = []
    if turn.thoughts:
        deltas = [{"type": "thinking_delta", "thinking": text} for text in turn.thoughts]
        signature = [{"type": "signature_delta", "signature": turn.signature}]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas, signature))
    if turn.pages:
        blocks += [_cited_block(text, turn.pages.get(index)) for index, text in enumerate(turn.text)]
    elif turn.text:
        deltas = [{"type": "text_delta", "text": text} for text in turn.text]
        blocks.append(({"type": "text", "text": ""}, deltas, []))
    return blocks + [_call_block(call, number) for number, call in enumerate(turn.calls)]


def _cited_block(text: str, url: str | None) -> Block:
    block = {"type": "text", "text": "", "citations": []}
    delta = {"type": "text_delta", "text": text}
    if url is None:
        return block, [delta], []
    citation = {
        "type": "web_search_result_location",
        "url": url,
        "title": "A page",
        "cited_text": "…",
        "encrypted_index": "Eo8B",
    }
    return block, [{"type": "citations_delta", "citation": citation}, delta], []


def _call_block(call: Call, number: int) -> Block:
    block = {"type": "tool_use", "id": call.id or f"toolu_{number}", "name": call.name, "input": {}}
    pieces = cut_up(json.dumps(call.args), _ARGUMENT_PIECE) if call.args else [""]
    return block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces], []


def _whole_block(block: Json, deltas: list[Json]) -> Json:
    whole = dict(block)
    if block["type"] == "tool_use":
        whole["input"] = json.loads("".join(delta["partial_json"] for delta in deltas) or "{}")
        return whole
    for delta in deltas:
        for name in ("text", "thinking", "signature"):
            if name in delta:
                whole[name] += delta[name]
        if "citation" in delta:
            whole["citations"] = [*whole["citations"], delta["citation"]]
    return whole


def _delta(index: int, delta: Json) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _message(turn: Turn) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-001",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_prompt_usage(turn), "output_tokens": 1},
    }


def _message_start(turn: Turn) -> Json:
    return {"type": "message_start", "message": _message(turn)}


def _message_end(turn: Turn) -> list[Json]:
    delta = {"stop_reason": _stop_reason(turn), "stop_sequence": None}
    usage = {"output_tokens": _output_tokens(turn)}
    end = [{"type": "message_delta", "delta": delta, "usage": usage}] if turn.finish_reason else []
    return [*end, {"type": "message_stop"}]


def _stop_reason(turn: Turn) -> str | None:
    if turn.block_reason is not None:
        return "refusal"
    if turn.calls and turn.finish_reason == "STOP":
        return "tool_use"
    return _STOP_REASONS.get(turn.finish_reason or "")


def _output_tokens(turn: Turn) -> int:
    return int(turn.usage["candidatesTokenCount"])


def _prompt_usage(turn: Turn) -> Json:
    cached = turn.usage.get("cachedContentTokenCount", 0)
    return {"input_tokens": turn.usage["promptTokenCount"] - cached, "cache_read_input_tokens": cached}
