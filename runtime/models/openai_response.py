"""Convert chat completions and their chunks to google-genai's responses."""

from __future__ import annotations

import json
from dataclasses import dataclass

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

from runtime import types

_FINISH_REASONS = {
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
    "error": types.FinishReason.OTHER,
}


@dataclass
class _Call:
    """A function call whose arguments are not complete."""

    id: str | None
    name: str = ""
    arguments: str = ""


class ChatChunks:
    """Converts the chunks of one streamed answer; function calls arrive with the finish reason."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._latest_by_index: dict[int, _Call] = {}
        self._refusal = ""

    def convert(self, chunk: ChatCompletionChunk) -> types.GenerateContentResponse | None:
        """Return the chunk's texts, calls, usage and finish reason; None when it has none of them."""
        usage = _usage(chunk.usage) if chunk.usage else None
        if not chunk.choices:
            return _response(chunk.model, usage=usage) if usage else None
        choice = chunk.choices[0]
        parts = self._add_delta(choice.delta) if choice.delta else []
        if choice.finish_reason:
            return _last_response(chunk.model, parts, self._calls, choice.finish_reason, self._refusal, usage)
        if not parts and usage is None:
            return None
        return _response(chunk.model, types.Candidate(content=_content(parts)), usage)

    def _add_delta(self, delta: ChoiceDelta) -> list[types.Part]:
        self._refusal += delta.refusal or ""
        for call in delta.tool_calls or []:
            self._add_call(call)
        return _text_parts(delta.content, delta)

    def _add_call(self, delta: ChoiceDeltaToolCall) -> None:
        """Add a piece of a call. Some servers send no index, or the same one for each call, but with a new id."""
        latest = self._calls[-1] if self._calls else None
        call = latest if delta.index is None else self._latest_by_index.get(delta.index)
        if call is None or (delta.id and call.id and delta.id != call.id):
            call = _Call(delta.id)
            self._calls.append(call)
        if delta.index is not None:
            self._latest_by_index[delta.index] = call
        if delta.function is not None:
            call.name += delta.function.name or ""
            call.arguments += delta.function.arguments or ""


def whole_response(completion: ChatCompletion) -> types.GenerateContentResponse:
    """Convert an answer that was not streamed."""
    usage = _usage(completion.usage) if completion.usage else None
    if not completion.choices:
        return _response(completion.model, usage=usage)
    choice = completion.choices[0]
    message = choice.message
    calls = [
        _Call(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or []
        if call.type == "function"
    ]
    parts = _text_parts(message.content, message)
    return _last_response(
        completion.model, parts, calls, choice.finish_reason or "stop", message.refusal or "", usage
    )


def _text_parts(text: str | None, source: object) -> list[types.Part]:
    """Return thoughts and text. vLLM and DeepSeek call thoughts `reasoning_content`, others `reasoning`."""
    thought = getattr(source, "reasoning_content", None) or getattr(source, "reasoning", None)
    parts = [types.Part(text=thought, thought=True)] if isinstance(thought, str) and thought else []
    return [*parts, types.Part(text=text)] if text else parts


def _last_response(
    model: str,
    parts: list[types.Part],
    calls: list[_Call],
    finish_reason: str,
    refusal: str,
    usage: types.GenerateContentResponseUsageMetadata | None,
) -> types.GenerateContentResponse:
    """Return the end of an answer. Calls are left out if the answer breaks off or has arguments that cannot be read."""
    if refusal:
        feedback = types.GenerateContentResponsePromptFeedback(
            block_reason=types.BlockedReason.SAFETY, block_reason_message=refusal
        )
        return types.GenerateContentResponse(
            prompt_feedback=feedback, usage_metadata=usage, model_version=model
        )
    reason = _FINISH_REASONS.get(finish_reason, types.FinishReason.STOP)
    if reason is types.FinishReason.STOP:
        try:
            parts = [*parts, *map(_call_part, calls)]
        except ValueError:
            reason = types.FinishReason.MALFORMED_FUNCTION_CALL
    return _response(model, types.Candidate(content=_content(parts), finish_reason=reason), usage)


def _call_part(call: _Call) -> types.Part:
    """Return a call; raises `ValueError` when its arguments are not a JSON object."""
    arguments = json.loads(call.arguments or "{}")
    return types.Part(function_call=types.FunctionCall(id=call.id, name=call.name, args=arguments))


def _content(parts: list[types.Part]) -> types.Content | None:
    return types.Content(role="model", parts=parts) if parts else None


def _response(
    model: str,
    candidate: types.Candidate | None = None,
    usage: types.GenerateContentResponseUsageMetadata | None = None,
) -> types.GenerateContentResponse:
    return types.GenerateContentResponse(
        candidates=[candidate] if candidate else None, usage_metadata=usage, model_version=model
    )


def _usage(usage: CompletionUsage) -> types.GenerateContentResponseUsageMetadata:
    """Return the tokens. Google counts thoughts apart from the answer, OpenAI within it."""
    prompt = usage.prompt_tokens_details
    answer = usage.completion_tokens_details
    thoughts = (answer.reasoning_tokens if answer else None) or 0
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=usage.prompt_tokens,
        candidates_token_count=max(usage.completion_tokens - thoughts, 0),
        thoughts_token_count=thoughts or None,
        cached_content_token_count=(prompt.cached_tokens if prompt else None) or None,
        total_token_count=usage.total_tokens,
    )
