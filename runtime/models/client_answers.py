"""Answers of providers other than Google, as google-genai's responses.

A provider's own module reads its events and names its finish reasons. Here a call gathers its arguments, which arrive
in pieces, and `last_response` adds the calls once the answer is whole: an answer cut by a limit, a refusal or bad JSON
must not execute anything. Servers that imitate a provider leave fields out, send null, or end an answer twice: missing
counts are 0, and each call is added once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runtime import types

Usage = types.GenerateContentResponseUsageMetadata


@dataclass
class PendingCall:
    """Function call with the JSON of its arguments so far, and its signature if the model signs calls."""

    id: str | None
    name: str = ""
    arguments: str = ""
    signature: bytes | None = None

    def add_arguments(self, piece: Any) -> None:
        """Add a piece of the JSON, or an object with all arguments."""
        if isinstance(piece, str):
            self.arguments += piece
        elif piece:
            self.arguments = json.dumps(piece)

    def as_part(self) -> types.Part:
        """Return the call as a part; raise `ValueError` if its arguments are not a JSON object."""
        # Some servers send nothing, or null, for a call without arguments.
        arguments = json.loads(self.arguments or "{}") or {}
        call = types.FunctionCall(id=self.id, name=self.name, args=arguments)
        return types.Part(function_call=call, thought_signature=self.signature)


def count_of(usage: object, name: str) -> int:
    """Return a token count of a provider's usage; 0 if it is missing or null."""
    value = getattr(usage, name, None)
    return value if isinstance(value, int) else 0


def response_of(
    model: str,
    parts: list[types.Part],
    usage: Usage | None,
    finish_reason: types.FinishReason | None = None,
    sources: types.GroundingMetadata | None = None,
) -> types.GenerateContentResponse:
    """Return a piece of an answer, or the whole answer."""
    content = types.Content(role="model", parts=parts) if parts else None
    candidate = types.Candidate(content=content, finish_reason=finish_reason, grounding_metadata=sources)
    return types.GenerateContentResponse(candidates=[candidate], usage_metadata=usage, model_version=model)


def last_response(
    model: str,
    parts: list[types.Part],
    calls: Iterable[PendingCall],
    usage: Usage | None,
    finish_reason: types.FinishReason,
    sources: types.GroundingMetadata | None = None,
) -> types.GenerateContentResponse:
    """Return the end of an answer, with its calls if the answer is whole and their arguments are valid JSON."""
    if finish_reason is types.FinishReason.STOP:
        try:
            parts = parts + [call.as_part() for call in calls]
        except (ValueError, RecursionError):
            finish_reason = types.FinishReason.MALFORMED_FUNCTION_CALL
    return response_of(model, parts, usage, finish_reason, sources)
