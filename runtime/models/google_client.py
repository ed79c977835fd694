"""google-genai clients, and response streams that close immediately.

google-genai does not expose the HTTP response of a stream. Closing its generator leaves the response to garbage
collection, so the provider would continue an answer that the user has stopped. A hook of the HTTP client records each
response in a context variable while a chunk is awaited, and `ChunkStream.aclose` closes the responses itself.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

import httpx2
from google import genai
from google.genai import errors

from runtime import types
from runtime.errors import ConfigurationError
from runtime.models.failures import (
    TRANSPORT_FAILURES,
    CallFailure,
    FailureReader,
    UnreadableAnswer,
    model_error,
    not_answered,
    parse_seconds,
    retry_after,
    status_name,
)
from runtime.models.loop_clients import Access, LoopClients, ssl_context
from runtime.models.provider_responses import field_of, list_field

# Responses of the running call; None outside of `reading_responses`.
_open_responses: ContextVar[list[httpx2.Response] | None] = ContextVar("_open_responses", default=None)
_STATUS_NAME = re.compile("[A-Z_]{1,40}")


@contextmanager
def reading_responses(responses: list[httpx2.Response]) -> Iterator[None]:
    """Collect the HTTP responses; turn an exception about a value in them into an `UnreadableAnswer`."""
    # Set for this call only: parallel agents must not collect each other's responses.
    token = _open_responses.set(responses)
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # Without a response the request itself is wrong.
        if not responses:
            raise
        raise UnreadableAnswer(repr(error)) from error
    finally:
        _open_responses.reset(token)


class ChunkStream:
    """Chunks of a streamed answer. `aclose` closes the HTTP response immediately.

    `next` raises `TimeoutError` after `timeout` seconds without a chunk.
    """

    def __init__(self, chunks: AsyncIterator[types.GenerateContentResponse], timeout: float | None) -> None:
        # google-genai declares an iterator but returns a generator.
        self._chunks = cast("AsyncGenerator[types.GenerateContentResponse, None]", chunks)
        self._timeout = timeout
        self._responses: list[httpx2.Response] = []

    async def next(self) -> types.GenerateContentResponse | None:
        """Return the next chunk, or None at the end."""
        with reading_responses(self._responses):
            async with asyncio.timeout(self._timeout):
                return await anext(self._chunks, None)

    async def aclose(self) -> None:
        for response in self._responses:
            await response.aclose()
        await self._chunks.aclose()


def new_clients(arguments: Mapping[str, Any]) -> LoopClients[genai.Client]:
    """Return clients with further arguments of `google.genai.Client`."""
    return LoopClients(partial(_create_client, arguments), _collect_response)


def _create_client(
    arguments: Mapping[str, Any], access: Access, http_client: httpx2.AsyncClient
) -> genai.Client:
    # For the synchronous client, which google-genai creates as well: otherwise it would load the certificates again.
    transport = {"httpx_async_client": http_client, "client_args": {"verify": ssl_context()}}
    options = types.HttpOptions.model_validate(arguments.get("http_options") or {}).model_copy(
        update=transport
    )
    if access.base_url:
        options.base_url = access.base_url
    try:
        return genai.Client(**{"api_key": access.api_key, **arguments, "http_options": options})
    except ValueError as error:
        raise ConfigurationError(
            "Gemini has no API key. Set GOOGLE_API_KEY or GEMINI_API_KEY in the environment, "
            f"or pass Gemini(api_key=…). (google-genai says: {error})"
        ) from error


async def _collect_response(response: httpx2.Response) -> None:
    responses = _open_responses.get()
    if responses is not None:
        responses.append(response)


CLIENTS = new_clients({})


def _read(failure: Exception) -> CallFailure:
    if not isinstance(failure, errors.APIError):
        return not_answered(failure)
    error = model_error(_status_name(failure), failure.message or str(failure))
    return CallFailure("refused", error, failure.code, _requested_delay(failure))


FAILURES = FailureReader(
    exceptions=(errors.APIError, errors.UnknownApiResponseError, *TRANSPORT_FAILURES), read=_read
)


def _status_name(failure: errors.APIError) -> str:
    # For a proxy's HTML page, `status` is the reason phrase ("Too Many Requests") and no status name.
    if failure.status is not None and _STATUS_NAME.fullmatch(failure.status):
        return str(failure.status)
    return status_name(failure.code)


def _requested_delay(failure: errors.APIError) -> float | None:
    """Return the seconds in `RetryInfo` of the error's details, otherwise in the `Retry-After` header, or None."""
    for detail in _details(failure.details):
        if str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return parse_seconds(str(detail.get("retryDelay", "")).removesuffix("s"))
    if isinstance(failure.response, httpx2.Response):
        return retry_after(failure.response.headers)
    return None


def _details(body: object) -> list[dict[str, object]]:
    # A proxy may answer with a body of any shape.
    error = field_of(body, "error") or body
    return [detail for detail in list_field(error, "details") if isinstance(detail, dict)]
