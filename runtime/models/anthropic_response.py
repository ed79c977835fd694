"""Convert Anthropic's messages and their events to google-genai's responses."""

from __future__ import annotations

import json
from collections.abc import Iterable

from anthropic.types import ContentBlock, Message, RawContentBlockDelta, RawMessageStreamEvent, Usage

from runtime import types
from runtime.models.request_contents import REDACTED_BY_CLAUDE, SIGNED_BY_CLAUDE

_FINISH_REASONS = {
    "max_tokens": types.FinishReason.MAX_TOKENS,
    "model_context_window_exceeded": types.FinishReason.MAX_TOKENS,
    "refusal": types.FinishReason.SAFETY,
}


class MessageEvents:
    """Converts the events of one streamed answer; function calls arrive with the stop reason."""

    def __init__(self) -> None:
        self._model = ""
        self._usage: types.GenerateContentResponseUsageMetadata | None = None
        self._calls: list[types.FunctionCall] = []
        self._arguments = ""
        self._signature = ""
        self._has_malformed_call = False

    def convert(self, event: RawMessageStreamEvent) -> types.GenerateContentResponse | None:
        """Return the event's text, thought, calls, usage and finish reason; None when it has none of them."""
        match event.type:
            case "message_start":
                self._model = event.message.model
                self._usage = _usage(event.message.usage)
            case "content_block_start":
                return self._response(self._start_block(event.content_block))
            case "content_block_delta":
                return self._response(self._add_delta(event.delta))
            case "content_block_stop":
                return self._response(self._stop_block())
            case "message_delta":
                self._set_output_tokens(event.usage.output_tokens)
                if event.delta.stop_reason is not None:
                    return self._last_response(event.delta.stop_reason)
        return None

    def _start_block(self, block: ContentBlock) -> list[types.Part]:
        self._arguments = self._signature = ""
        match block.type:
            case "tool_use":
                self._calls.append(types.FunctionCall(id=block.id, name=block.name))
            case "redacted_thinking":
                return _redacted_thought(block.data)
            case "text" if block.text:
                return [types.Part(text=block.text)]
        return []

    def _add_delta(self, delta: RawContentBlockDelta) -> list[types.Part]:
        match delta.type:
            case "text_delta":
                return [types.Part(text=delta.text)]
            case "thinking_delta":
                return [types.Part(text=delta.thinking, thought=True)]
            case "signature_delta":
                self._signature += delta.signature
            case "input_json_delta":
                self._arguments += delta.partial_json
        return []

    def _stop_block(self) -> list[types.Part]:
        """Complete the block: the arguments of a call, or the signature of a thought."""
        signature = self._signature
        self._signature = ""
        if signature:
            return [
                types.Part(text="", thought=True, thought_signature=SIGNED_BY_CLAUDE + signature.encode())
            ]
        if self._calls and self._calls[-1].args is None:
            try:
                self._calls[-1] = self._calls[-1].model_copy(update={"args": _arguments(self._arguments)})
            except ValueError:
                self._has_malformed_call = True
        return []

    def _set_output_tokens(self, tokens: int) -> None:
        if self._usage is not None:
            prompt = self._usage.prompt_token_count or 0
            counts = {"candidates_token_count": tokens, "total_token_count": prompt + tokens}
            self._usage = self._usage.model_copy(update=counts)

    def _response(self, parts: list[types.Part]) -> types.GenerateContentResponse | None:
        return _response(self._model, parts, None, self._usage) if parts else None

    def _last_response(self, stop_reason: str) -> types.GenerateContentResponse:
        reason = _FINISH_REASONS.get(stop_reason, types.FinishReason.STOP)
        # A limit or a refusal may have cut the last call.
        is_whole = reason is types.FinishReason.STOP and not self._has_malformed_call
        if self._has_malformed_call and reason is types.FinishReason.STOP:
            reason = types.FinishReason.MALFORMED_FUNCTION_CALL
        parts = [types.Part(function_call=call) for call in self._calls] if is_whole else []
        return _response(self._model, parts, reason, self._usage)


def whole_response(message: Message) -> types.GenerateContentResponse:
    """Convert an answer that was not streamed."""
    reason = _FINISH_REASONS.get(message.stop_reason or "", types.FinishReason.STOP)
    parts = list(_parts(message.content))
    if reason is not types.FinishReason.STOP:
        parts = [part for part in parts if not part.function_call]
    return _response(message.model, parts, reason, _usage(message.usage))


def _parts(blocks: Iterable[ContentBlock]) -> Iterable[types.Part]:
    for block in blocks:
        match block.type:
            case "text" if block.text:
                yield types.Part(text=block.text)
            case "thinking":
                signature = SIGNED_BY_CLAUDE + block.signature.encode() if block.signature else None
                yield types.Part(text=block.thinking, thought=True, thought_signature=signature)
            case "redacted_thinking":
                yield from _redacted_thought(block.data)
            case "tool_use":
                call = types.FunctionCall(id=block.id, name=block.name, args=dict(block.input))
                yield types.Part(function_call=call)


def _redacted_thought(data: str) -> list[types.Part]:
    return [types.Part(text="", thought=True, thought_signature=REDACTED_BY_CLAUDE + data.encode())]


def _arguments(text: str) -> dict[str, object]:
    """Return a call's arguments; raises `ValueError` when they are not a JSON object."""
    arguments = json.loads(text or "{}")
    if not isinstance(arguments, dict):
        raise ValueError(f"Arguments are not an object: {text}")
    return arguments


def _response(
    model: str,
    parts: list[types.Part],
    reason: types.FinishReason | None,
    usage: types.GenerateContentResponseUsageMetadata | None,
) -> types.GenerateContentResponse:
    content = types.Content(role="model", parts=parts) if parts else None
    candidate = types.Candidate(content=content, finish_reason=reason)
    return types.GenerateContentResponse(candidates=[candidate], usage_metadata=usage, model_version=model)


def _usage(usage: Usage) -> types.GenerateContentResponseUsageMetadata:
    """Return the tokens. Google counts cached tokens within the prompt, Anthropic counts them apart."""
    cached = usage.cache_read_input_tokens or 0
    prompt = usage.input_tokens + cached + (usage.cache_creation_input_tokens or 0)
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        candidates_token_count=usage.output_tokens,
        cached_content_token_count=cached or None,
        total_token_count=prompt + usage.output_tokens,
    )
