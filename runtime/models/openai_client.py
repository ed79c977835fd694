"""Calls through the official `openai` client. `OpenAICompatible` imports this module at its first call."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

import httpx2
import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

from runtime import types
from runtime.models.embeddings import Embeddings
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
from runtime.models.request_contents import REASONING_CONTENT, SIGNED_IN_CHAT

_FINISH_REASONS = {
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
    "error": types.FinishReason.OTHER,
}


def _create_client(access: Access, http_client: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    # `with_retries` repeats failed calls, and `EventChunks` limits the silence.
    return openai.AsyncOpenAI(
        api_key=access.api_key, base_url=access.base_url, http_client=http_client, max_retries=0, timeout=None
    )


CLIENTS = LoopClients(_create_client)


def _read(failure: Exception) -> CallFailure:
    match failure:
        case openai.APIStatusError():
            code: str | None = None
            if failure.code == "content_filter":
                code = "SAFETY"
            return refused(
                failure.status_code, _provider_message(failure), code=code, headers=failure.response.headers
            )
        case openai.APITimeoutError():
            return timed_out(failure)
        case openai.APIConnectionError():
            return disconnected(failure.__cause__ or failure)
        # A validation error means an unreadable answer, not a refused call.
        case openai.APIError() if not isinstance(failure, openai.APIResponseValidationError):
            # An error inside a stream. Some servers give it a code, which is an HTTP status.
            code = str(field_of(failure.body, "code"))
            if not code.isdecimal():
                code = "500"
            return refused(int(code), _provider_message(failure))
    return not_answered(failure)


FAILURES = FailureReader(exceptions=(openai.APIError, *TRANSPORT_FAILURES), read=_read)


def _provider_message(failure: openai.APIError) -> str:
    return str(field_of(failure.body, "message") or failure.message)


@dataclass(frozen=True)
class ChatCall:
    """Chat completion; if `model` is empty, the first model that the server lists answers."""

    client: openai.AsyncOpenAI
    model: str
    arguments: Json
    timeout: float | None
    failures: ClassVar[FailureReader] = FAILURES

    async def answer(self) -> types.GenerateContentResponse:
        answer = await self._create(stream=False)
        with reading_answer():
            return whole_response(answer)

    async def open(self) -> EventChunks[Any]:
        # Without `include_usage`, a streamed answer has no usage.
        events = await self._create(stream=True, stream_options={"include_usage": True})
        return EventChunks(aiter(events), events.close, ChatChunks().convert, self.timeout)

    async def _create(self, **options: Any) -> Any:
        model = self.model or (await self.client.models.list()).data[0].id
        return await self.client.chat.completions.create(model=model, **self.arguments, **options)


async def embed(
    client: openai.AsyncOpenAI, model: str, texts: Sequence[str], dimensions: int, options: Json
) -> Embeddings:
    # Without a format, the client asks for base64, which other servers may not know.
    answer = await client.embeddings.create(
        model=model, input=list(texts), encoding_format="float", **options
    )
    with reading_answer():
        vectors = [made.embedding for made in sorted(answer.data, key=attrgetter("index"))]
        tokens = answer.usage.prompt_tokens if answer.usage else None
        return Embeddings.of(texts, vectors, dimensions, tokens)


class ChatChunks:
    """Convert the chunks of a streamed answer; function calls are returned with the finish reason."""

    def __init__(self) -> None:
        # Emptied by a finish reason: a second one must not run the calls again.
        self._calls: list[PendingCall] = []
        self._has_reasoning = False
        self._latest_by_index: dict[int, PendingCall] = {}
        self._refusal = ""
        self._sources = CitedSources(joins_texts=True)
        self._annotations: list[object] = []

    def convert(self, chunk: ChatCompletionChunk) -> types.GenerateContentResponse | None:
        """Return the chunk's texts, calls, usage and finish reason; None if it has none of them."""
        usage = _usage(chunk.usage)
        # The usage arrives in a separate chunk, after the finish reason.
        if not chunk.choices:
            if usage is None:
                return None
            return _usage_response(chunk.model, usage)
        choice = chunk.choices[0]
        parts: list[types.Part] = []
        if choice.delta:
            parts = self._add_delta(choice.delta)
        if choice.finish_reason:
            if self._has_reasoning:
                parts.append(_reasoning_mark())
            calls = self._calls
            self._calls = []
            self._latest_by_index = {}
            self._has_reasoning = False
            _cite(self._sources, self._annotations)
            self._annotations = []
            sources = self._sources.as_metadata()
            return _end(chunk.model, parts, calls, choice.finish_reason, self._refusal, usage, sources)
        if not parts and usage is None:
            return None
        return response_of(chunk.model, parts, usage)

    def _add_delta(self, delta: ChoiceDelta) -> list[types.Part]:
        self._refusal += getattr(delta, "refusal", None) or ""
        for call in getattr(delta, "tool_calls", None) or []:
            self._add_call(call)
        self._has_reasoning = self._has_reasoning or bool(getattr(delta, "reasoning_content", None))
        self._annotations += list_field(delta, "annotations")
        parts = _text_parts(getattr(delta, "content", None), delta)
        self._sources.add_parts(parts)
        return parts

    def _add_call(self, delta: ChoiceDeltaToolCall) -> None:
        """Add a piece of a call to the call it belongs to."""
        index = getattr(delta, "index", None)
        call_id = getattr(delta, "id", None)
        call: PendingCall | None = None
        if index is not None:
            call = self._latest_by_index.get(index)
        elif self._calls:
            call = self._calls[-1]
        # Some servers send no index, or the same index for each call, but a new id.
        if call is None or (call_id and call.id and call_id != call.id):
            call = PendingCall(call_id)
            self._calls.append(call)
        if index is not None:
            self._latest_by_index[index] = call
        function = getattr(delta, "function", None)
        call.name += getattr(function, "name", None) or ""
        call.add_arguments(getattr(function, "arguments", None))
        call.signature = _google_signature(delta) or call.signature


def whole_response(completion: ChatCompletion) -> types.GenerateContentResponse:
    """Convert an answer that was not streamed."""
    usage = _usage(completion.usage)
    if not completion.choices:
        return _usage_response(completion.model, usage)
    choice = completion.choices[0]
    message = choice.message
    calls = []
    for made in getattr(message, "tool_calls", None) or []:
        function = getattr(made, "function", None)
        if function is not None:
            call = PendingCall(made.id, function.name, signature=_google_signature(made))
            call.add_arguments(function.arguments)
            calls.append(call)
    parts = _text_parts(getattr(message, "content", None), message)
    sources = CitedSources(joins_texts=False)
    sources.add_parts(parts)
    _cite(sources, list_field(message, "annotations"))
    if getattr(message, "reasoning_content", None):
        parts.append(_reasoning_mark())
    finish_reason = choice.finish_reason or "stop"
    refusal = getattr(message, "refusal", None) or ""
    return _end(completion.model, parts, calls, finish_reason, refusal, usage, sources.as_metadata())


def _cite(sources: CitedSources, annotations: Iterable[object]) -> None:
    """Cite the pages that annotations name, as OpenAI's search models and OpenRouter send them."""
    for annotation in annotations:
        citation = field_of(annotation, "url_citation")
        uri = text_field(citation, "url")
        if uri:
            start = field_of(citation, "start_index")
            end = field_of(citation, "end_index")
            source = CitedSource(text_field(citation, "title"), uri)
            if isinstance(start, int) and isinstance(end, int):
                sources.cite(start, end, source)
            else:
                sources.add_found(source)


def _text_parts(content: object, source: object) -> list[types.Part]:
    parts = []
    # vLLM and DeepSeek call thoughts `reasoning_content`, others `reasoning`.
    thought = getattr(source, "reasoning_content", None) or getattr(source, "reasoning", None)
    if isinstance(thought, str) and thought:
        parts.append(types.Part(text=thought, thought=True))
    text = _text_of(content)
    if text:
        parts.append(types.Part(text=text))
    return parts


def _text_of(content: object) -> str:
    """Return the text of a content, which is a list of parts on some servers."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [field_of(part, "text") for part in content]
    return "".join(text for text in texts if isinstance(text, str))


def _reasoning_mark() -> types.Part:
    """Return the mark of an answer whose thoughts must be sent back with the results of its calls."""
    return types.Part(text="", thought=True, thought_signature=REASONING_CONTENT)


def _google_signature(call: object) -> bytes | None:
    """Return the signature that Google's server of this protocol adds to a call, with our mark before it."""
    google = field_of(field_of(call, "extra_content"), "google")
    signature = field_of(google, "thought_signature")
    if not isinstance(signature, str):
        return None
    return SIGNED_IN_CHAT + signature.encode()


def _end(
    model: str,
    parts: list[types.Part],
    calls: list[PendingCall],
    finish_reason: str,
    refusal: str,
    usage: Usage | None,
    sources: types.GroundingMetadata | None,
) -> types.GenerateContentResponse:
    """Return the end of an answer: its last parts and calls, or the refusal."""
    if refusal:
        feedback = types.GenerateContentResponsePromptFeedback(
            block_reason=types.BlockedReason.SAFETY, block_reason_message=refusal
        )
        response = _usage_response(model, usage)
        return response.model_copy(update={"prompt_feedback": feedback})
    reason = _FINISH_REASONS.get(finish_reason, types.FinishReason.STOP)
    return last_response(model, parts, calls, usage, reason, sources)


def _usage_response(model: str, usage: Usage | None) -> types.GenerateContentResponse:
    return types.GenerateContentResponse(usage_metadata=usage, model_version=model)


def _usage(usage: CompletionUsage | None) -> Usage | None:
    if usage is None:
        return None
    prompt = count_of(usage, "prompt_tokens")
    answer = count_of(usage, "completion_tokens")
    thoughts = count_of(getattr(usage, "completion_tokens_details", None), "reasoning_tokens")
    cached = count_of(getattr(usage, "prompt_tokens_details", None), "cached_tokens")
    return Usage(
        prompt_token_count=prompt,
        # Google counts thoughts separately; OpenAI includes them in the answer.
        candidates_token_count=max(answer - thoughts, 0),
        thoughts_token_count=thoughts or None,
        cached_content_token_count=cached or None,
        # Some servers count only the parts.
        total_token_count=count_of(usage, "total_tokens") or prompt + answer,
    )
