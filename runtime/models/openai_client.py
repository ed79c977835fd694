"""Calls through the official `openai` client. `OpenAICompatible` imports this module at its first call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

import httpx2
import openai

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
from runtime.models.openai_response import ChatChunks, whole_response


def _new_client(access: Access, http_client: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    # `with_retries` repeats failed calls, and `EventChunks` limits the silence.
    return openai.AsyncOpenAI(
        api_key=access.api_key, base_url=access.base_url, http_client=http_client, max_retries=0, timeout=None
    )


CLIENTS = LoopClients(_new_client)


def _read(failure: Exception) -> CallFailure:
    match failure:
        case openai.APIStatusError():
            code = "SAFETY" if failure.code == "content_filter" else None
            return refused(failure.status_code, _words(failure), code=code, headers=failure.response.headers)
        case openai.APITimeoutError():
            return timed_out(failure)
        case openai.APIConnectionError():
            return disconnected(failure.__cause__ or failure)
        # A validation error means an unreadable answer, not a refused call.
        case openai.APIError() if not isinstance(failure, openai.APIResponseValidationError):
            # An error inside a stream. Some servers give it a code, which is an HTTP status.
            code = failure.body.get("code") if isinstance(failure.body, dict) else None
            return refused(int(str(code)) if str(code).isdecimal() else 500, _words(failure))
    return not_answered(failure)


FAILURES = FailureReader(exceptions=(openai.APIError, *TRANSPORT_FAILURES), read=_read)


def _words(failure: openai.APIError) -> str:
    words = failure.body.get("message") if isinstance(failure.body, dict) else None
    return str(words or failure.message)


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
