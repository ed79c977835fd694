"""Models behind the chat completions protocol: OpenAI, OpenRouter, vLLM, Ollama, LM Studio and others."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

from runtime.models.base_llm import Capabilities
from runtime.models.embeddings import Embeddings
from runtime.models.http_llm import HttpLlm, PreparedCall
from runtime.models.llm_request import LlmRequest
from runtime.models.loop_clients import Access
from runtime.models.openai_request import as_chat_completion
from runtime.models.retry import RetryPolicy, timeout_of, with_retries


@dataclass(frozen=True)
class Endpoint:
    """A server and the environment variable of its key. OpenAI's URL is None, so `OPENAI_BASE_URL` can replace it."""

    base_url: str | None
    key_variable: str | None = None
    needs_key: bool = False

    @property
    def is_openai(self) -> bool:
        return self.base_url is None


_ENDPOINTS = {
    "openai": Endpoint(None, "OPENAI_API_KEY", needs_key=True),
    "openrouter": Endpoint("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", needs_key=True),
    "ollama": Endpoint("http://localhost:11434/v1"),
    "lm_studio": Endpoint("http://localhost:1234/v1"),
    "vllm": Endpoint("http://localhost:8000/v1"),
}

# The client refuses an empty key; servers without keys ignore the placeholder.
_NO_KEY = "none"


class OpenAICompatible(HttpLlm):
    """Model of a server with the chat completions protocol, through the official `openai` client.

    Name the model in one of these ways:

    - `openai/…`, `openrouter/…`, `ollama/…`, `lm_studio/…` or `vllm/…`: a model of this provider, or of this program
      on the local machine;
    - `http://host:8000/v1#name`, a URL: the model `name` of the server, or the first model that the server lists;
    - any name, which is sent unchanged, together with `base_url`.

    `api_key` None reads `OPENAI_API_KEY` (for OpenRouter `OPENROUTER_API_KEY`) at each call; programs on the local
    machine get no key.
    """

    _package: ClassVar[str] = "openai"
    makes_embeddings: ClassVar[bool] = True

    @classmethod
    def supported_models(cls) -> list[str]:
        return [rf"({'|'.join(_ENDPOINTS)})/.+", r"https?://.+"]

    @property
    def capabilities(self) -> Capabilities:
        """Assume only of OpenAI's own server that a request may have both an output schema and tools."""
        return Capabilities(schema_with_tools=self._locate(self.model)[0].is_openai)

    def _missing_key(self, model: str) -> str | None:
        endpoint, _ = self._locate(model)
        has_key = not endpoint.needs_key or self._key(endpoint.key_variable)
        return None if has_key else endpoint.key_variable

    async def _prepare(self, llm_request: LlmRequest) -> PreparedCall:
        name = llm_request.model or self.model
        endpoint, model = self._locate(name)
        module, client = await self._connect(name, endpoint)
        # OpenAI has deprecated `max_tokens`; other servers may know no other name.
        limit = "max_completion_tokens" if endpoint.is_openai else "max_tokens"
        arguments = as_chat_completion(llm_request, name, limit)
        call: PreparedCall = module.ChatCall(client, model, arguments, timeout_of(llm_request, self.timeout))
        return call

    async def embed(self, texts: Sequence[str], dimensions: int) -> Embeddings:
        """Return the vectors of the texts as `BaseLlm` describes.

        Only OpenAI is asked for the length of the vectors: other servers refuse it for models that have one length.
        """
        endpoint, model = self._locate(self.model)
        module, client = await self._connect(self.model, endpoint)
        options = {"dimensions": dimensions} if endpoint.is_openai else {}

        async def ask() -> Embeddings:
            async with asyncio.timeout(self.timeout):
                embeddings: Embeddings = await module.embed(client, model, texts, dimensions, options)
            return embeddings

        return await with_retries(ask, RetryPolicy.of(self.retry_options), module.FAILURES)

    async def _connect(self, name: str, endpoint: Endpoint) -> tuple[ModuleType, Any]:
        """Return the module that calls the client, and the client; raise the errors of `_prepare`."""
        module = await self._import_client(name, "openai_client")
        key = self._key(endpoint.key_variable) or _NO_KEY
        return module, await module.CLIENTS.for_running_loop(Access(key, endpoint.base_url))

    def _locate(self, name: str) -> tuple[Endpoint, str]:
        """Return the server and the model's name there; the name is empty for a URL without a model."""
        if self.base_url is not None:
            return Endpoint(self.base_url, "OPENAI_API_KEY"), name
        if name.startswith(("http://", "https://")):
            url, _, model = name.partition("#")
            return Endpoint(url, "OPENAI_API_KEY"), model
        prefix, slash, model = name.partition("/")
        if slash and prefix in _ENDPOINTS:
            return _ENDPOINTS[prefix], model
        return _ENDPOINTS["openai"], name
