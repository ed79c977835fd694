"""Calls through the `litellm` package. `LiteLlm` imports this module at its first call.

LiteLLM speaks OpenAI's protocol to its callers, whatever the provider speaks, so its answers are read by the
converters of `openai_client`. LiteLLM drops or invents some fields on the way; `WatchedStream` sees a stream of
OpenAI's protocol before LiteLLM does, and restores them.

LiteLLM creates an HTTP client for each provider and lets nobody give it hooks. All of them get their transport from one
private function, which is replaced here to limit the size of answers.
"""

import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

# LiteLLM reads these when it is imported: it would load a file `.env`, and fetch prices and headers from the network.
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
# Every running answer holds a connection; above these limits further calls would wait.
os.environ.setdefault("AIOHTTP_CONNECTOR_LIMIT", "100000")
os.environ.setdefault("AIOHTTP_CONNECTOR_LIMIT_PER_HOST", "100000")

import httpx
import litellm
import openai
from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from runtime import types
from runtime.http_bodies import BodyTooLargeError
from runtime.httpx_bodies import limit_body
from runtime.models import openai_client
from runtime.models.failures import (
    MAX_ANSWER_BYTES,
    TRANSPORT_FAILURES,
    CallFailure,
    FailureReader,
    disconnected,
    not_answered,
    reading_answer,
    refused,
    timed_out,
    too_large,
)
from runtime.models.http_llm import EventChunks
from runtime.models.json_schema import Json
from runtime.models.openai_client import ChatChunks, whole_response

litellm.telemetry = False
# LiteLLM logs each call at the level INFO, to its own handler and to the site's.
logging.getLogger("LiteLLM").setLevel(logging.WARNING)
# LiteLLM would print advice for each failed call.
litellm.suppress_debug_info = True

# `with_retries` repeats failed calls.
_DEFAULTS = {"max_retries": 0, "num_retries": 0}
# Practically none: `LiteCall` ends a silent call itself.
_NO_TIMEOUT = 86_400.0
# LiteLLM puts the names of its own exceptions before the provider's message.
_WRAPPERS = re.compile(r"^(litellm\.\w+: |\w+Error: |\w+Exception - )+")


_create_transport = AsyncHTTPHandler._create_async_transport


class BoundedTransport(httpx.AsyncBaseTransport):
    """Transport of LiteLLM that limits the bodies of answers."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(request)
        limit_body(response, MAX_ANSWER_BYTES)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


def _create_bounded_transport(**options: Any) -> BoundedTransport | None:
    transport = _create_transport(**options)
    # None is httpx's own transport, which a user of LiteLLM has chosen.
    if transport is None:
        return None
    return BoundedTransport(transport)


AsyncHTTPHandler._create_async_transport = staticmethod(_create_bounded_transport)


def _read(failure: Exception) -> CallFailure:
    """Read the exception of the `openai` package or the HTTP client if it is below LiteLLM's."""
    for cause in _causes(failure):
        if type(cause).__module__.startswith("openai"):
            return openai_client.FAILURES.read(cause)
        if isinstance(cause, BodyTooLargeError):
            return too_large(cause)
        if isinstance(cause, httpx.TimeoutException):
            return timed_out(cause)
        if isinstance(cause, httpx.TransportError):
            return disconnected(cause)
    if isinstance(failure, litellm.Timeout):
        return timed_out(failure)
    status = getattr(failure, "status_code", None)
    if not isinstance(status, int):
        return not_answered(failure)
    message = _WRAPPERS.sub("", str(getattr(failure, "message", failure)))
    code: str | None = None
    if isinstance(failure, litellm.ContentPolicyViolationError):
        code = "SAFETY"
    headers = dict(getattr(failure, "litellm_response_headers", None) or {})
    return refused(status, message, code=code, headers=headers)


FAILURES = FailureReader(exceptions=(openai.APIError, httpx.TransportError, *TRANSPORT_FAILURES), read=_read)


def _causes(failure: BaseException) -> Iterator[Exception]:
    """Yield the failure and the exceptions below it."""
    cause: BaseException | None = failure
    while isinstance(cause, Exception):
        yield cause
        cause = cause.__cause__ or cause.__context__


@dataclass(frozen=True)
class LiteCall:
    """A call of `acompletion` of LiteLLM or the author's client. `repr` hides the arguments, which hold the API key."""

    arguments: Json = field(repr=False)
    timeout: float | None
    client: Any = None
    failures: ClassVar[FailureReader] = FAILURES

    async def answer(self) -> types.GenerateContentResponse:
        # `construct` does not validate: servers leave out fields that the class requires.
        answer = await self._create(stream=False)
        with reading_answer():
            completion = ChatCompletion.construct(**answer.model_dump())
            for choice in completion.choices:
                # LiteLLM moves a refusal here.
                fields = getattr(choice.message, "provider_specific_fields", None) or {}
                choice.message.refusal = fields.get("refusal")
            return whole_response(completion)

    async def open(self) -> EventChunks[Any]:
        stream = await self._create(stream=True, stream_options={"include_usage": True})
        return EventChunks(aiter(stream), stream.aclose, LiteChunks(stream).convert, self.timeout)

    async def _create(self, **options: Any) -> Any:
        client = self.client or litellm
        return await client.acompletion(**{**_DEFAULTS, **self.arguments, "timeout": _NO_TIMEOUT, **options})


class LiteChunks:
    """Convert the chunks of a streamed answer."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._chunks = ChatChunks()
        self._source: WatchedStream | None = None
        if isinstance(stream.completion_stream, openai.AsyncStream):
            self._source = stream.completion_stream = WatchedStream(stream.completion_stream)

    def convert(self, chunk: Any) -> types.GenerateContentResponse | None:
        """Return the part of the answer in the chunk, as `ChatChunks.convert` does.

        Raises:
            httpx.ReadError: the stream was cut, and LiteLLM has invented the finish reason.
        """
        read = ChatCompletionChunk.construct(**chunk.model_dump())
        if not self._has_finish_reason and any(choice.finish_reason for choice in read.choices):
            raise httpx.ReadError("The stream ended without a finish reason.")
        if self._source is not None:
            self._source.restore(read)
        return self._chunks.convert(read)

    @property
    def _has_finish_reason(self) -> bool:
        """Return True if the provider itself has sent a finish reason."""
        if self._source is not None:
            return self._source.has_finish_reason
        return self._stream.received_finish_reason is not None


class WatchedStream:
    """Stream of OpenAI's protocol on its way to LiteLLM, which drops the model's version and a refusal."""

    def __init__(self, stream: openai.AsyncStream[ChatCompletionChunk]) -> None:
        self._stream = stream
        self._model = ""
        self._refusal = ""
        self.has_finish_reason = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatCompletionChunk:
        chunk = await anext(self._stream)
        self._model = chunk.model or self._model
        for choice in chunk.choices:
            self._refusal += (choice.delta and choice.delta.refusal) or ""
            self.has_finish_reason = self.has_finish_reason or bool(choice.finish_reason)
        return chunk

    def restore(self, chunk: ChatCompletionChunk) -> None:
        """Set the dropped fields in a chunk that LiteLLM created from this stream."""
        chunk.model = self._model
        for choice in chunk.choices:
            choice.delta.refusal = None
            if choice.finish_reason:
                choice.delta.refusal = self._refusal

    async def aclose(self) -> None:
        await self._stream.close()
