"""Calls through the official `anthropic` client. `Claude` imports this module at its first call."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import anthropic
import httpx2
from anthropic.types import ContentBlock, Message, RawContentBlockDelta, RawMessageStreamEvent
from anthropic.types import Usage as AnthropicUsage

from runtime import types
from runtime.models.failures import (
    TRANSPORT_FAILURES,
    CallFailure,
    FailureReader,
    disconnected,
    not_answered,
    reading_answer,
    refused,
    timed_out,
)
from runtime.models.http_llm import EventChunks
from runtime.models.json_schema import Json
from runtime.models.loop_clients import Access, LoopClients
from runtime.models.provider_responses import (
    CitedSource,
    CitedSources,
    PendingCall,
    Usage,
    count_of,
    field_of,
    last_response,
    list_field,
    response_of,
    text_field,
)
from runtime.models.request_contents import REDACTED_BY_CLAUDE, SIGNED_BY_CLAUDE

# HTTP statuses of errors that arrive as events, in an answer whose own status is 200.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_FINISH_REASONS = {
    "max_tokens": types.FinishReason.MAX_TOKENS,
    "model_context_window_exceeded": types.FinishReason.MAX_TOKENS,
    "refusal": types.FinishReason.SAFETY,
}


def _create_client(access: Access, http_client: httpx2.AsyncClient) -> anthropic.AsyncAnthropic:
    # `with_retries` repeats failed calls, and `EventChunks` limits the silence.
    return anthropic.AsyncAnthropic(
        api_key=access.api_key, base_url=access.base_url, http_client=http_client, max_retries=0, timeout=None
    )


CLIENTS = LoopClients(_create_client)


def _read(failure: Exception) -> CallFailure:
    match failure:
        case anthropic.APIStatusError():
            kind, message = _kind_and_message(failure)
            status = failure.status_code
            if status == 200:
                status = _STATUSES.get(kind, 500)
            return refused(status, message, headers=failure.response.headers)
        case anthropic.APITimeoutError():
            return timed_out(failure)
        case anthropic.APIConnectionError():
            return disconnected(failure.__cause__ or failure)
    return not_answered(failure)


FAILURES = FailureReader(exceptions=(anthropic.APIError, *TRANSPORT_FAILURES), read=_read)


def _kind_and_message(failure: anthropic.APIStatusError) -> tuple[str, str]:
    error = field_of(failure.body, "error")
    if not isinstance(error, dict):
        return "", failure.message
    return str(error.get("type", "")), str(error.get("message", failure.message))


@dataclass(frozen=True)
class MessageCall:
    client: anthropic.AsyncAnthropic
    model: str
    arguments: Json
    timeout: float | None
    failures: ClassVar[FailureReader] = FAILURES

    async def answer(self) -> types.GenerateContentResponse:
        answer = await self._create(stream=False)
        with reading_answer():
            return whole_response(answer)

    async def open(self) -> EventChunks[Any]:
        events = await self._create(stream=True)
        return EventChunks(aiter(events), events.close, MessageEvents().convert, self.timeout)

    async def _create(self, *, stream: bool) -> Any:
        return await self.client.messages.create(model=self.model, stream=stream, **self.arguments)


class MessageEvents:
    """Convert the events of a streamed answer; function calls are returned with the stop reason."""

    def __init__(self) -> None:
        self._model = ""
        self._usage: Usage | None = None
        self._calls: list[PendingCall] = []
        self._call: PendingCall | None = None  # The call of the current block.
        self._signature = ""
        self._sources = CitedSources(joins_texts=True)
        self._passage: list[str] = []  # The texts of the current block.
        self._cited: list[CitedSource] = []  # The sources of the current block.

    def convert(self, event: RawMessageStreamEvent) -> types.GenerateContentResponse | None:
        """Return the event's text, thought, calls, usage and finish reason; None if it has none of them."""
        parts: list[types.Part] = []
        match event.type:
            case "message_start":
                self._model = event.message.model
                self._usage = _usage(getattr(event.message, "usage", None))
            case "content_block_start":
                parts = self._start_block(event.content_block)
            case "content_block_delta":
                parts = self._add_delta(event.delta)
            case "content_block_stop":
                parts = self._stop_block()
            case "message_delta":
                self._set_output_tokens(count_of(getattr(event, "usage", None), "output_tokens"))
                if event.delta.stop_reason is not None:
                    reason = _FINISH_REASONS.get(event.delta.stop_reason, types.FinishReason.STOP)
                    calls = self._calls
                    self._calls = []  # A second stop reason must not run them again.
                    sources = self._sources.as_metadata()
                    return last_response(self._model, [], calls, self._usage, reason, sources)
        self._sources.add_parts(parts)
        if not parts:
            return None
        return response_of(self._model, parts, self._usage)

    def _start_block(self, block: ContentBlock) -> list[types.Part]:
        self._call = None
        self._signature = ""
        self._passage = []
        self._cited = []
        match block.type:
            case "tool_use":
                self._call = PendingCall(block.id, block.name)
                self._call.add_arguments(block.input)  # Claude sends `{}` here, others send all arguments.
                self._calls.append(self._call)
            case "redacted_thinking":
                return [_thought("", REDACTED_BY_CLAUDE, block.data)]
            case "text" if block.text:
                self._passage = [block.text]
                return [types.Part(text=block.text)]
            case "web_search_tool_result":
                _add_found(self._sources, block)
        return []

    def _stop_block(self) -> list[types.Part]:
        if self._cited:
            self._sources.cite_last("".join(self._passage), self._cited)
            self._cited = []
        if not self._signature:
            return []
        parts = [_thought("", SIGNED_BY_CLAUDE, self._signature)]
        self._signature = ""
        return parts

    def _add_delta(self, delta: RawContentBlockDelta) -> list[types.Part]:
        match delta.type:
            case "text_delta":
                self._passage.append(delta.text)
                return [types.Part(text=delta.text)]
            case "thinking_delta":
                return [types.Part(text=delta.thinking, thought=True)]
            case "signature_delta":
                self._signature += delta.signature
            case "citations_delta":
                self._cited += _cited([delta.citation])
            case "input_json_delta" if self._call:
                self._call.add_arguments(delta.partial_json)
        return []

    def _set_output_tokens(self, tokens: int) -> None:
        if self._usage is not None and tokens:
            prompt = self._usage.prompt_token_count or 0
            counts = {"candidates_token_count": tokens, "total_token_count": prompt + tokens}
            self._usage = self._usage.model_copy(update=counts)


def whole_response(message: Message) -> types.GenerateContentResponse:
    """Convert an answer that was not streamed."""
    reason = _FINISH_REASONS.get(message.stop_reason or "", types.FinishReason.STOP)
    parts: list[types.Part] = []
    sources = CitedSources(joins_texts=False)
    for block in message.content:
        added = list(_parts(block))
        parts += added
        sources.add_parts(added)
        if block.type == "web_search_tool_result":
            _add_found(sources, block)
        elif block.type == "text" and (cited := _cited(list_field(block, "citations"))):
            sources.cite_last(block.text, cited)
    calls = []
    for block in message.content:
        if block.type == "tool_use":
            call = PendingCall(block.id, block.name)
            call.add_arguments(block.input)
            calls.append(call)
    usage = _usage(getattr(message, "usage", None))
    return last_response(message.model, parts, calls, usage, reason, sources.as_metadata())


def _parts(block: ContentBlock) -> Iterable[types.Part]:
    match block.type:
        case "text" if block.text:
            yield types.Part(text=block.text)
        case "thinking":
            yield _thought(block.thinking, SIGNED_BY_CLAUDE, block.signature)
        case "redacted_thinking":
            yield _thought("", REDACTED_BY_CLAUDE, block.data)


def _add_found(sources: CitedSources, block: object) -> None:
    """Take the pages that a search of Claude has found."""
    for result in list_field(block, "content"):
        if uri := text_field(result, "url"):
            sources.add_found(CitedSource(text_field(result, "title"), uri))


def _cited(citations: Iterable[object]) -> list[CitedSource]:
    """Return the sources of citations: of pages, of search results and of documents in the request."""
    sources = []
    for citation in citations:
        title = text_field(citation, "title", "document_title")
        uri = text_field(citation, "url", "source")
        if title or uri:
            sources.append(CitedSource(title, uri))
    return sources


def _thought(text: str, mark: bytes, signature: str) -> types.Part:
    """Return a thought; `mark` identifies Claude's signature."""
    signed: bytes | None = None
    if signature:
        signed = mark + signature.encode()
    return types.Part(text=text, thought=True, thought_signature=signed)


def _usage(usage: AnthropicUsage | None) -> Usage | None:
    if usage is None:
        return None
    # Google counts cached tokens within the prompt, Anthropic separately.
    cached = count_of(usage, "cache_read_input_tokens")
    prompt = count_of(usage, "input_tokens") + cached + count_of(usage, "cache_creation_input_tokens")
    answer = count_of(usage, "output_tokens")
    return Usage(
        prompt_token_count=prompt,
        candidates_token_count=answer,
        cached_content_token_count=cached or None,
        total_token_count=prompt + answer,
    )
