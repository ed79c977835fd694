"""Base of the models that call a provider through its own optional client.

A subclass converts an `LlmRequest` to a `PreparedCall`; this module sends it. The same `PreparedCall` is sent again for
each attempt:

    _prepare -> PreparedCall --answer--> response                     (not streamed)
                             --open----> Chunks --assemble--> partial responses, whole response

Only `answer`, and `open` with the first chunk, are retried: after the first chunk the caller has seen a part of the
answer, and a second attempt would give a different text.
"""

import asyncio
import os
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import ClassVar, Generic, Protocol, TypeVar

from pydantic import Field

from runtime import types
from runtime.errors import ConfigurationError, how_to_install
from runtime.models.base_llm import BaseLlm, SetupProblem
from runtime.models.failures import FailureReader, reading_answer
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.retry import retry_policy_of, with_retries
from runtime.models.streaming import Chunks, assemble, with_first_chunk

E = TypeVar("E")


class PreparedCall(Protocol):
    """A request in the provider's form; each call of `answer` or `open` sends it once."""

    @property
    def failures(self) -> FailureReader: ...

    @property
    def timeout(self) -> float | None: ...

    async def answer(self) -> types.GenerateContentResponse: ...

    async def open(self) -> Chunks: ...


class HttpLlm(BaseLlm):
    """Model behind an HTTP API; retries, timeout and streaming are the same as in `Gemini` (contract M2).

    The timeout and the retries in a request's `http_options` take precedence over the model's. The module that imports
    the provider's client is loaded at the first call.

    Attributes:
        api_key: None reads the provider's variable in the environment at the first call.
        base_url: None means the provider's own endpoint.
        timeout: seconds to wait for the next part of an answer; None waits without limit.
        retry_options: attempts and delays; unset fields use the defaults of `RetryPolicy`.
    """

    api_key: str | None = Field(default=None, repr=False, exclude=True)
    base_url: str | None = None
    timeout: float | None = 300.0
    retry_options: types.HttpRetryOptions | None = None

    _package: ClassVar[str]
    """Name of the provider's optional client package."""

    def setup_problems(self) -> list[SetupProblem]:
        problems = []
        if find_spec(self._package) is None:
            problems.append(SetupProblem.missing_package(self._package, self.model))
        variable = self._missing_key(self.model)
        if variable is not None:
            problems.append(SetupProblem.missing_key(variable, self.model))
        return problems

    def _missing_key(self, model: str) -> str | None:
        """Return the environment variable of the missing API key; None if no key is missing or needed."""
        return None

    def _key(self, variable: str | None) -> str | None:
        return self.api_key or (os.environ.get(variable) if variable else None)

    async def _import_client(self, model: str, module: str) -> ModuleType:
        """Import and return the module that calls the provider's client.

        Raises:
            ConfigurationError: the key or the package is missing.
        """
        variable = self._missing_key(model)
        if variable is not None:
            raise ConfigurationError(
                f"Model {model!r} has no API key. Set {variable} in the environment, "
                f"or pass {type(self).__name__}(api_key=…)."
            )
        if find_spec(self._package) is None:
            raise ConfigurationError(
                f"{type(self).__name__} needs the package {self._package!r}: {how_to_install(self._package)}"
            )
        # A client's package takes seconds to import, and would block the event loop.
        return await asyncio.to_thread(import_module, f"runtime.models.{module}")

    @abstractmethod
    async def _prepare(self, llm_request: LlmRequest) -> PreparedCall:
        """Convert the request to the provider's form.

        Raises:
            ConfigurationError: the key or the client's package is missing, or a tool is not a function.
        """

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes; raise also the errors of `_prepare`."""
        call = await self._prepare(llm_request)
        policy = retry_policy_of(llm_request, self.retry_options)
        if not stream:
            whole = await with_retries(lambda: _answer(call), policy, call.failures)
            yield LlmResponse.create(whole)
            return
        chunks, first = await with_retries(lambda: _open(call), policy, call.failures)
        async with aclosing(assemble(chunks, first, call.failures)) as responses:
            async for response in responses:
                yield response


class EventChunks(Generic[E]):
    """Adapt a client's event stream to `Chunks`.

    `convert` returns None for an event without content for the answer. `next` raises `TimeoutError` after `timeout`
    seconds without an event.
    """

    def __init__(
        self,
        events: AsyncIterator[E],
        close: Callable[[], Awaitable[None]],
        convert: Callable[[E], types.GenerateContentResponse | None],
        timeout: float | None,
    ) -> None:
        self._events = events
        self._close = close
        self._convert = convert
        self._timeout = timeout

    async def next(self) -> types.GenerateContentResponse | None:
        while True:
            # The limit is for each event: a long answer may take longer than `timeout` in total.
            with reading_answer():
                async with asyncio.timeout(self._timeout):
                    event = await anext(self._events, None)
                if event is None:
                    return None
                chunk = self._convert(event)
            if chunk is not None:
                return chunk

    async def aclose(self) -> None:
        await self._close()


async def _answer(call: PreparedCall) -> types.GenerateContentResponse:
    async with asyncio.timeout(call.timeout):
        return await call.answer()


async def _open(call: PreparedCall) -> tuple[Chunks, types.GenerateContentResponse | None]:
    async with asyncio.timeout(call.timeout):
        chunks = await call.open()
    return await with_first_chunk(chunks)
