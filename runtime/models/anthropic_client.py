"""Calls through the official `anthropic` client. `Claude` imports this module at its first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import anthropic
import httpx2

from runtime import types
from runtime.models.anthropic_response import MessageEvents, whole_response
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


def _new_client(access: Access, http_client: httpx2.AsyncClient) -> anthropic.AsyncAnthropic:
    # `with_retries` repeats failed calls, and `EventChunks` limits the silence.
    return anthropic.AsyncAnthropic(
        api_key=access.api_key, base_url=access.base_url, http_client=http_client, max_retries=0, timeout=None
    )


CLIENTS = LoopClients(_new_client)


def _read(failure: Exception) -> CallFailure:
    match failure:
        case anthropic.APIStatusError():
            kind, words = _kind_and_words(failure)
            status = failure.status_code
            if status == 200:
                status = _STATUSES.get(kind, 500)
            return refused(status, words, headers=failure.response.headers)
        case anthropic.APITimeoutError():
            return timed_out(failure)
        case anthropic.APIConnectionError():
            return disconnected(failure.__cause__ or failure)
    return not_answered(failure)


FAILURES = FailureReader(exceptions=(anthropic.APIError, *TRANSPORT_FAILURES), read=_read)


def _kind_and_words(failure: anthropic.APIStatusError) -> tuple[str, str]:
    error = failure.body.get("error") if isinstance(failure.body, dict) else None
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
