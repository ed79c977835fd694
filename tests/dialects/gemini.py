"""Gemini's API (https://ai.google.dev/api/generate-content)."""

from __future__ import annotations

from tests.dialects.dialect import sse
from tests.model_script import Call, Failure, Json, Turn


class GeminiDialect:
    """`generateContent` and `streamGenerateContent`."""

    def stream_pieces(self, turn: Turn) -> list[bytes]:
        return [sse(chunk) for chunk in _stream_chunks(turn)]

    def stream_error(self) -> bytes:
        return sse({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})

    def whole(self, turn: Turn) -> Json:
        if turn.block_reason is not None:
            return _blocked(turn)
        # Positions of cited texts count from the beginning of one text.
        joined = turn.model_copy(update={"text": ["".join(turn.text)]}) if turn.pages else turn
        parts = [part for parts in _part_groups(joined) for part in parts]
        return _candidate_response(turn, parts, _ending(turn))

    def failure(self, failure: Failure) -> Json:
        retry_info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": failure.retry_delay}
        error = {
            "code": failure.http_status,
            "message": failure.message,
            "status": failure.status,
            "details": [retry_info] if failure.retry_delay else [],
        }
        return {"error": error}


def _part_groups(turn: Turn) -> list[list[Json]]:
    """Return the parts of each chunk of the answer."""
    groups: list[list[Json]] = [[{"text": text, "thought": True}] for text in turn.thoughts]
    groups += [[{"text": text}] for text in turn.text]
    groups += [[part] for part in turn.parts]
    if turn.calls:
        groups.append([_call_part(call) for call in turn.calls])
    return groups


def _call_part(call: Call) -> Json:
    part: Json = {"functionCall": call.model_dump(include={"name", "args", "id"}, exclude_none=True)}
    if call.thought_signature is not None:
        part["thoughtSignature"] = call.thought_signature
    return part


def _stream_chunks(turn: Turn) -> list[Json]:
    """Return the chunks of a streamed answer; the last one carries the finish reason."""
    if turn.block_reason is not None:
        return [_blocked(turn)]
    chunks = [_candidate_response(turn, parts, {}) for parts in _part_groups(turn)]
    if turn.ending == "proper":
        if not chunks:
            chunks.append(_candidate_response(turn, [], {}))
        chunks[-1] = _candidate_response(
            turn, chunks[-1]["candidates"][0]["content"].get("parts", []), _ending(turn)
        )
    return chunks


def _ending(turn: Turn) -> Json:
    ending: Json = {"finishReason": turn.finish_reason} if turn.finish_reason is not None else {}
    if turn.pages:
        ending["groundingMetadata"] = _grounding(turn)
    return {**ending, **turn.candidate}


def _grounding(turn: Turn) -> Json:
    """Return the cited pages; positions count bytes of the whole text."""
    supports = []
    for number, index in enumerate(turn.pages):
        start = len("".join(turn.text[:index]).encode())
        text = turn.text[index]
        segment = {"startIndex": start, "endIndex": start + len(text.encode()), "text": text}
        supports.append({"segment": segment, "groundingChunkIndices": [number]})
    chunks = [{"web": {"uri": url, "title": "A page"}} for url in turn.pages.values()]
    return {"groundingChunks": chunks, "groundingSupports": supports}


def _candidate_response(turn: Turn, parts: list[Json], candidate: Json) -> Json:
    content: Json = {"role": "model", **({"parts": parts} if parts else {})}
    return {
        "candidates": [{"content": content, "index": 0, **candidate}],
        "usageMetadata": turn.usage,
        "modelVersion": "gemini-test-001",
    }


def _blocked(turn: Turn) -> Json:
    return {"promptFeedback": {"blockReason": turn.block_reason}, "usageMetadata": turn.usage}
