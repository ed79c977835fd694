"""Gemini."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeVar

from google.genai.client import AsyncClient
from pydantic import Field

from runtime import types
from runtime.errors import ModelError
from runtime.models.base_llm import BaseLlm, Capabilities
from runtime.models.google_cache import CachedPrefix, PrefixCache
from runtime.models.google_client import ChunkStream, client_for_running_loop
from runtime.models.google_errors import FAILURES, as_stream_error, stream_cut
from runtime.models.google_request import PLACEHOLDER, as_google_config
from runtime.models.google_retry import RetryPolicy, with_retries
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.streaming import StreamedAnswer

T = TypeVar("T")

logger = logging.getLogger(__name__)

# Shared by all objects of the class: an agent may have a new one for every request.
_prefixes = PrefixCache()

# What Gemini says of a cached content that has expired.
_GONE = ("NOT_FOUND", "PERMISSION_DENIED")

# The first generation that takes an output schema and function declarations in one request.
_SCHEMA_WITH_TOOLS_SINCE = 3


class Gemini(BaseLlm):
    """Google's Gemini through google-genai's asynchronous client (spec M2).

    A call that fails before anything of the answer has come is tried again as `retry_options` say, and then
    raises `ModelError`. An answer that breaks off later is never asked for again: the last response holds
    what had come, without its function calls, and has `STREAM_CUT`, or the code of the failure, as its
    `error_code`.

    Where the request has a `cache_config`, Gemini keeps its instruction, its tools and what was said before the
    last turn, and later requests name that in place of sending it. What cannot be cached is sent whole.

    Attributes:
        model: the name the model is asked under when the request has none.
        api_key: None reads `GOOGLE_API_KEY` or `GEMINI_API_KEY` from the environment at the first call.
        base_url: None reads `GOOGLE_GEMINI_BASE_URL`, else Google's own endpoint is used.
        timeout: seconds the model may be silent; None waits for ever.
        retry_options: attempts and delays; what is not set has the defaults of `RetryPolicy`.
    """

    model: str = "gemini-flash-latest"
    api_key: str | None = Field(default=None, repr=False, exclude=True)
    base_url: str | None = None
    timeout: float | None = 300.0
    retry_options: types.HttpRetryOptions | None = None

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"(models/)?gemini-.+", r"projects/.+/models/gemini-.+", r"projects/.+/endpoints/.+"]

    @property
    def capabilities(self) -> Capabilities:
        generation = re.search(r"gemini-(\d+)", self.model)
        is_recent = generation is None or int(generation[1]) >= _SCHEMA_WITH_TOOLS_SINCE
        return Capabilities(schema_with_tools=is_recent)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """See `BaseLlm`; raises `ConfigurationError` when no API key is known."""
        client = await client_for_running_loop(self.api_key, self.base_url)
        answer = self._stream if stream else self._answer
        async with aclosing(answer(client.aio, llm_request)) as responses:
            async for response in responses:
                yield response

    async def _answer(
        self, client: AsyncClient, llm_request: LlmRequest
    ) -> AsyncGenerator[LlmResponse, None]:
        model = llm_request.model or self.model

        async def ask(config: types.GenerateContentConfigDict) -> types.GenerateContentResponse:
            async with asyncio.timeout(self.timeout):
                return await client.models.generate_content(model=model, contents=PLACEHOLDER, config=config)

        yield LlmResponse.create(await self._ask(client, llm_request, ask))

    async def _stream(
        self, client: AsyncClient, llm_request: LlmRequest
    ) -> AsyncGenerator[LlmResponse, None]:
        model = llm_request.model or self.model

        async def open_stream(
            config: types.GenerateContentConfigDict,
        ) -> tuple[ChunkStream, types.GenerateContentResponse | None]:
            chunks = await client.models.generate_content_stream(
                model=model, contents=PLACEHOLDER, config=config
            )
            stream = ChunkStream(chunks, self.timeout)
            return stream, await stream.next()

        stream, chunk = await self._ask(client, llm_request, open_stream)
        answer, failure = StreamedAnswer(), None
        async with aclosing(stream):
            while chunk is not None:
                partial = answer.add(chunk)
                if partial is not None:
                    yield partial
                try:
                    chunk = await stream.next()
                except FAILURES as error:
                    failure = as_stream_error(error)
                    break
        if failure is None and not answer.is_complete:
            failure = stream_cut()
        yield answer.final(failure)

    async def _ask(
        self,
        client: AsyncClient,
        llm_request: LlmRequest,
        ask: Callable[[types.GenerateContentConfigDict], Awaitable[T]],
    ) -> T:
        """Ask, with retries, for what Gemini does not keep of the request; for all of it if that is gone by now."""
        policy = RetryPolicy.of(self.retry_options)
        prefix = await self._cached_prefix(client, llm_request)
        if prefix is not None:
            config = as_google_config(prefix.rest_of(llm_request))
            try:
                return await with_retries(lambda: ask(config), policy)
            except ModelError as error:
                if error.code not in _GONE:
                    raise
                _prefixes.forget(prefix)
                logger.warning("Gemini lost a cached context, which is sent whole instead: %s", error)
        whole = as_google_config(llm_request)
        return await with_retries(lambda: ask(whole), policy)

    async def _cached_prefix(self, client: AsyncClient, llm_request: LlmRequest) -> CachedPrefix | None:
        model = llm_request.model or self.model

        async def create(config: types.CreateCachedContentConfigDict) -> types.CachedContent:
            async with asyncio.timeout(self.timeout):
                return await client.caches.create(model=model, config=config)

        return await _prefixes.prefix_of(llm_request, f"{model}\n{self.base_url}\n{self.api_key}", create)
