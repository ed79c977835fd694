"""Gemini as a model of agents."""

import asyncio
import logging
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, ClassVar, TypeVar

from google.genai.client import AsyncClient, Client
from pydantic import Field, PrivateAttr

from runtime import types
from runtime.errors import ModelError
from runtime.models.base_llm import BaseLlm, Capabilities, SetupProblem
from runtime.models.embeddings import Embeddings
from runtime.models.failures import reading_answer
from runtime.models.google_cache import CachedPrefix, PrefixCache
from runtime.models.google_client import CLIENTS, FAILURES, ChunkStream, new_clients, reading_responses
from runtime.models.google_request import PLACEHOLDER, as_google_config
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.loop_clients import Access, LoopClients
from runtime.models.retry import RetryPolicy, retry_policy_of, timeout_of, with_retries
from runtime.models.streaming import assemble, with_first_chunk

T = TypeVar("T")

logger = logging.getLogger(__name__)

# Shared by all instances, because an agent may create a new instance for every request.
_prefixes = PrefixCache()

# Gemini answers with one of these codes when a cached content has expired.
_CACHE_EXPIRED = ("NOT_FOUND", "PERMISSION_DENIED")

# The first generation that accepts an output schema and function declarations in one request.
_SCHEMA_WITH_TOOLS_SINCE = 3

_KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")


class Gemini(BaseLlm):
    """Google's Gemini through google-genai's asynchronous client (contract M2).

    A call that fails before any part of the answer arrives is retried according to `retry_options`; the last failure
    is raised as `ModelError`. An answer that breaks off later is not retried: the last response holds the parts
    received so far, without function calls, and its `error_code` is `STREAM_CUT` or the code of the failure.

    When the request has a `cache_config`, the instruction, the tools and the contents before the last turn are stored
    in Gemini's context cache, and later requests refer to them by name. A request that cannot be cached is sent whole.

    Attributes:
        model: the model name for requests without a name.
        api_key: None reads `GOOGLE_API_KEY` or `GEMINI_API_KEY` from the environment at the first call.
        base_url: None reads `GOOGLE_GEMINI_BASE_URL` and falls back to Google's endpoint.
        timeout: seconds to wait for the next part of an answer; None waits without limit.
        retry_options: attempts and delays; unset fields use the defaults of `RetryPolicy`.
        client: the author's own `google.genai.Client`; it works in one event loop.
        client_kwargs: further arguments of `google.genai.Client`, such as `vertexai`, `project` and `location`.
    """

    model: str = "gemini-flash-latest"
    api_key: str | None = Field(default=None, repr=False, exclude=True)
    base_url: str | None = None
    timeout: float | None = 300.0
    retry_options: types.HttpRetryOptions | None = None
    client: Any = Field(default=None, repr=False, exclude=True)
    client_kwargs: dict[str, Any] = Field(default_factory=dict, repr=False, exclude=True)

    makes_embeddings: ClassVar[bool] = True

    _own_clients: LoopClients[Client] | None = PrivateAttr(default=None)

    @property
    def api_client(self) -> Any:
        """The author's own `google.genai.Client`; None by default. A subclass may override this."""
        return self.client

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"(models/)?gemini-.+", r"projects/.+/models/gemini-.+", r"projects/.+/endpoints/.+"]

    @property
    def capabilities(self) -> Capabilities:
        generation = re.search(r"gemini-(\d+)", self.model)
        # A name without a generation, such as `gemini-flash-latest`, is an alias of a recent model.
        is_recent = generation is None or int(generation[1]) >= _SCHEMA_WITH_TOOLS_SINCE
        return Capabilities(schema_with_tools=is_recent)

    def setup_problems(self) -> list[SetupProblem]:
        if self.api_client or self.client_kwargs:
            return []
        # With GOOGLE_GENAI_USE_VERTEXAI, google-genai calls Vertex AI without an API key.
        if self.api_key or any(map(os.environ.get, ("GOOGLE_GENAI_USE_VERTEXAI", *_KEY_VARIABLES))):
            return []
        return [SetupProblem.missing_key(" or ".join(_KEY_VARIABLES), self.model)]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes.

        Raises:
            ConfigurationError: no API key is configured.
            ModelError: the call failed before any part of the answer arrived.
        """
        client = await self._find_client()
        answer = self._stream if stream else self._answer
        async with aclosing(answer(client.aio, llm_request)) as responses:
            async for response in responses:
                yield response

    async def embed(self, texts: Sequence[str], dimensions: int) -> Embeddings:
        """Return the vectors of the texts as `BaseLlm` describes; raise `ConfigurationError` without an API key."""
        client = await self._find_client()

        async def ask() -> Embeddings:
            with reading_responses([]):
                async with asyncio.timeout(self.timeout):
                    answer = await client.aio.models.embed_content(
                        model=self.model,
                        # A list of texts would be one content for some models.
                        contents=[types.UserContent(text) for text in texts],
                        config={"output_dimensionality": dimensions},
                    )
            with reading_answer():
                counts = [made.statistics and made.statistics.token_count for made in answer.embeddings]
                vectors = [made.values for made in answer.embeddings]
                return Embeddings.of(texts, vectors, dimensions, int(sum(count or 0 for count in counts)))

        return await with_retries(ask, RetryPolicy.of(self.retry_options), FAILURES)

    async def _find_client(self) -> Any:
        return self.api_client or await self._clients().for_running_loop(Access(self.api_key, self.base_url))

    def _clients(self) -> LoopClients[Client]:
        if not self.client_kwargs:
            return CLIENTS
        if self._own_clients is None:
            self._own_clients = new_clients(self.client_kwargs)
        return self._own_clients

    async def _answer(
        self, client: AsyncClient, llm_request: LlmRequest
    ) -> AsyncGenerator[LlmResponse, None]:
        model = llm_request.model or self.model

        async def ask(config: types.GenerateContentConfigDict) -> types.GenerateContentResponse:
            with reading_responses([]):
                async with asyncio.timeout(timeout_of(llm_request, self.timeout)):
                    return await client.models.generate_content(
                        model=model, contents=PLACEHOLDER, config=config
                    )

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
            # google-genai sends the request when the first chunk is awaited.
            return await with_first_chunk(ChunkStream(chunks, timeout_of(llm_request, self.timeout)))

        stream, first = await self._ask(client, llm_request, open_stream)
        async with aclosing(assemble(stream, first, FAILURES)) as responses:
            async for response in responses:
                yield response

    async def _ask(
        self,
        client: AsyncClient,
        llm_request: LlmRequest,
        ask: Callable[[types.GenerateContentConfigDict], Awaitable[T]],
    ) -> T:
        """Send the request with retries, without its cached part; send all of it if the cached part has expired."""
        policy = retry_policy_of(llm_request, self.retry_options)
        prefix = await self._find_cached_prefix(client, llm_request)
        if prefix is not None:
            config = as_google_config(prefix.remaining_request(llm_request))
            try:
                return await with_retries(lambda: ask(config), policy, FAILURES)
            except ModelError as error:
                if error.code not in _CACHE_EXPIRED:
                    raise
                _prefixes.forget(prefix)
                logger.warning("A cached context has expired; sending the whole request: %s", error)
        whole = as_google_config(llm_request)
        return await with_retries(lambda: ask(whole), policy, FAILURES)

    async def _find_cached_prefix(self, client: AsyncClient, llm_request: LlmRequest) -> CachedPrefix | None:
        model = llm_request.model or self.model

        async def create(config: types.CreateCachedContentConfigDict) -> types.CachedContent:
            async with asyncio.timeout(timeout_of(llm_request, self.timeout)):
                return await client.caches.create(model=model, config=config)

        # These identify the account; their defaults are the same for the whole process.
        account = (model, self.base_url, self.api_key, self.api_client, self.client_kwargs)
        return await _prefixes.find_or_create(llm_request, repr(account), create)
