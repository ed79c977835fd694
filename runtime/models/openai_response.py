"""Convert chat completions and their chunks to google-genai's responses."""

from __future__ import annotations

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

from runtime import types
from runtime.models.client_answers import PendingCall, Usage, last_response, response_of

_FINISH_REASONS = {
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
    "error": types.FinishReason.OTHER,
}


class ChatChunks:
    """Converts the chunks of one streamed answer; function calls arrive with the finish reason."""

    def __init__(self) -> None:
        self._calls: list[PendingCall] = []
        self._latest_by_index: dict[int, PendingCall] = {}
        self._refusal = ""

    def convert(self, chunk: ChatCompletionChunk) -> types.GenerateContentResponse | None:
        """Return the chunk's texts, calls, usage and finish reason; None when it has none of them."""
        usage = _usage(chunk.usage)
        if not chunk.choices:
            return _usage_response(chunk.model, usage) if usage else None
        choice = chunk.choices[0]
        parts = self._add_delta(choice.delta) if choice.delta else []
        if choice.finish_reason:
            return _end(chunk.model, parts, self._calls, choice.finish_reason, self._refusal, usage)
        if not parts and usage is None:
            return None
        return response_of(chunk.model, parts, usage)

    def _add_delta(self, delta: ChoiceDelta) -> list[types.Part]:
        self._refusal += delta.refusal or ""
        for call in delta.tool_calls or []:
            self._add_call(call)
        return _text_parts(delta.content, delta)

    def _add_call(self, delta: ChoiceDeltaToolCall) -> None:
        """Add a piece of a call. Some servers send no index, or the same index for each call, but with a new id."""
        if delta.index is not None:
            call = self._latest_by_index.get(delta.index)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or (delta.id and call.id and delta.id != call.id):
            call = PendingCall(delta.id)
            self._calls.append(call)
        if delta.index is not None:
            self._latest_by_index[delta.index] = call
        if delta.function is not None:
            call.name += delta.function.name or ""
            call.arguments += delta.function.arguments or ""


def whole_response(completion: ChatCompletion) -> types.GenerateContentResponse:
    """Convert an answer that was not streamed."""
    usage = _usage(completion.usage)
    if not completion.choices:
        return _usage_response(completion.model, usage)
    choice = completion.choices[0]
    message = choice.message
    calls = []
    for call in message.tool_calls or []:
        if call.type == "function":
            calls.append(PendingCall(call.id, call.function.name, call.function.arguments))
    parts = _text_parts(message.content, message)
    finish_reason = choice.finish_reason or "stop"
    return _end(completion.model, parts, calls, finish_reason, message.refusal or "", usage)


def _text_parts(text: str | None, source: object) -> list[types.Part]:
    """Return thoughts and text. vLLM and DeepSeek call thoughts `reasoning_content`, others `reasoning`."""
    parts = []
    thought = getattr(source, "reasoning_content", None) or getattr(source, "reasoning", None)
    if isinstance(thought, str) and thought:
        parts.append(types.Part(text=thought, thought=True))
    if text:
        parts.append(types.Part(text=text))
    return parts


def _end(
    model: str,
    parts: list[types.Part],
    calls: list[PendingCall],
    finish_reason: str,
    refusal: str,
    usage: Usage | None,
) -> types.GenerateContentResponse:
    """Return the end of an answer: its last parts with the calls, or the refusal."""
    if refusal:
        feedback = types.GenerateContentResponsePromptFeedback(
            block_reason=types.BlockedReason.SAFETY, block_reason_message=refusal
        )
        response = _usage_response(model, usage)
        return response.model_copy(update={"prompt_feedback": feedback})
    reason = _FINISH_REASONS.get(finish_reason, types.FinishReason.STOP)
    return last_response(model, parts, calls, usage, reason)


def _usage_response(model: str, usage: Usage | None) -> types.GenerateContentResponse:
    return types.GenerateContentResponse(usage_metadata=usage, model_version=model)


def _usage(usage: CompletionUsage | None) -> Usage | None:
    """Return the tokens. Google counts thoughts apart from the answer, OpenAI within it."""
    if usage is None:
        return None
    prompt = usage.prompt_tokens_details
    answer = usage.completion_tokens_details
    thoughts = (answer and answer.reasoning_tokens) or 0
    return Usage(
        prompt_token_count=usage.prompt_tokens,
        candidates_token_count=max(usage.completion_tokens - thoughts, 0),
        thoughts_token_count=thoughts or None,
        cached_content_token_count=(prompt and prompt.cached_tokens) or None,
        total_token_count=usage.total_tokens,
    )
