"""Scripts of the model server: turns in the form of Gemini's API, and the JSON that answers a request."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

Json = dict[str, Any]


class Call(BaseModel):
    name: str
    args: Json = {}
    id: str | None = None
    thought_signature: str | None = None


class Failure(BaseModel):
    """An HTTP error in place of an answer: JSON as the API sends it, or `html` as a proxy sends it."""

    http_status: int
    status: str | None = None
    message: str = "The script asks for this failure."
    retry_delay: str | None = None
    retry_after: str | None = None
    html: str | None = None


class Turn(BaseModel):
    """One answer: a chunk for each thought, text and further part (in the API's JSON), then one for all calls.

    Attributes:
        hold_before: indexes of the chunks before which the server waits for a release.
        pause: seconds to wait after each chunk.
        ending: the end of the stream: complete, a broken connection, or an error sent as a chunk.
    """

    thoughts: list[str] = []
    text: list[str] = []
    parts: list[Json] = []
    calls: list[Call] = []
    finish_reason: str | None = "STOP"
    block_reason: str | None = None
    candidate: Json = {}
    usage: Json = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    hold_before: list[int] = []
    pause: float = 0
    ending: Literal["proper", "cut", "error"] = "proper"
    failure: Failure | None = None


class Rule(BaseModel):
    """A turn for every request whose last content, as JSON, matches the regular expression `when`."""

    when: str
    turn: Turn


class Script(BaseModel):
    """Rules, tried first and in order, and turns, each played once."""

    rules: list[Rule] = []
    turns: list[Turn] = []


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


def stream_chunks(turn: Turn) -> list[Json]:
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


def whole_response(turn: Turn) -> Json:
    """Return the answer as one response."""
    if turn.block_reason is not None:
        return _blocked(turn)
    return _candidate_response(turn, [part for parts in _part_groups(turn) for part in parts], _ending(turn))


def _ending(turn: Turn) -> Json:
    ending = {"finishReason": turn.finish_reason} if turn.finish_reason is not None else {}
    return {**ending, **turn.candidate}


def _candidate_response(turn: Turn, parts: list[Json], candidate: Json) -> Json:
    content: Json = {"role": "model", **({"parts": parts} if parts else {})}
    return {
        "candidates": [{"content": content, "index": 0, **candidate}],
        "usageMetadata": turn.usage,
        "modelVersion": "gemini-test-001",
    }


def _blocked(turn: Turn) -> Json:
    return {"promptFeedback": {"blockReason": turn.block_reason}, "usageMetadata": turn.usage}
