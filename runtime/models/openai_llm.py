"""Models behind the chat completions protocol: OpenAI, OpenRouter, vLLM, Ollama, LM Studio and others."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from types import ModuleType

from runtime.errors import ConfigurationError
from runtime.models.base_llm import Capabilities, SetupProblem
from runtime.models.call_limits import timeout_of
from runtime.models.http_llm import HttpLlm, PreparedCall, has_package, require_package
from runtime.models.llm_request import LlmRequest
from runtime.models.loop_clients import Access
from runtime.models.openai_request import as_chat_completion


@dataclass(frozen=True)
class Endpoint:
    """A server and the variable of its key. OpenAI's URL is None, so that `OPENAI_BASE_URL` can replace it."""

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

# The client refuses an empty key; servers without keys ignore this one.
_NO_KEY = "none"


class OpenAICompatible(HttpLlm):
    """A model of a server that speaks the chat completions protocol, through the official `openai` client.

    The model is named in one of these ways:

    - `openai/…`, `openrouter/…`, `ollama/…`, `lm_studio/…` or `vllm/…`: a model of this provider, or of this program
      on this computer;
    - `http://host:8000/v1#name`, a URL: the model `name` of the server, or the first that the server lists;
    - any name, which is sent unchanged, together with `base_url`.

    `api_key` None reads `OPENAI_API_KEY` (for OpenRouter `OPENROUTER_API_KEY`) at each call; the programs on this
    computer get none.
    """

    @classmethod
    def supported_models(cls) -> list[str]:
        return [rf"({'|'.join(_ENDPOINTS)})/.+", r"https?://.+"]

    @property
    def capabilities(self) -> Capabilities:
        """The capability to combine an output schema with tools is assumed for OpenAI's own server only."""
        return Capabilities(schema_with_tools=self._locate(self.model)[0].is_openai)

    def setup_problems(self) -> list[SetupProblem]:
        endpoint, _ = self._locate(self.model)
        problems = [] if has_package("openai") else [SetupProblem.missing_package("openai", self.model)]
        if endpoint.needs_key and not self._key(endpoint):
            problems.append(SetupProblem.missing_key(str(endpoint.key_variable), self.model))
        return problems

    async def _prepare(self, llm_request: LlmRequest) -> PreparedCall:
        name = llm_request.model or self.model
        endpoint, model = self._locate(name)
        key = self._key(endpoint)
        if endpoint.needs_key and not key:
            raise ConfigurationError(
                f"Model {name!r} has no API key. Set {endpoint.key_variable} in the environment, "
                "or pass OpenAICompatible(api_key=…)."
            )
        limit = "max_completion_tokens" if endpoint.is_openai else "max_tokens"
        arguments = as_chat_completion(llm_request, name, limit)
        # The first import takes a second.
        module = await asyncio.to_thread(_client_module)
        client = await module.CLIENTS.for_running_loop(Access(key or _NO_KEY, endpoint.base_url))
        call: PreparedCall = module.ChatCall(client, model, arguments, timeout_of(llm_request, self.timeout))
        return call

    def _locate(self, name: str) -> tuple[Endpoint, str]:
        """Return the server, and the model's name there; the name is empty for a URL that names no model."""
        if self.base_url is not None:
            return Endpoint(self.base_url, "OPENAI_API_KEY"), name
        if name.startswith(("http://", "https://")):
            url, _, model = name.partition("#")
            return Endpoint(url, "OPENAI_API_KEY"), model
        prefix, slash, model = name.partition("/")
        if slash and prefix in _ENDPOINTS:
            return _ENDPOINTS[prefix], model
        return _ENDPOINTS["openai"], name

    def _key(self, endpoint: Endpoint) -> str | None:
        return self.api_key or (os.environ.get(endpoint.key_variable) if endpoint.key_variable else None)


def _client_module() -> ModuleType:
    require_package("openai", "OpenAICompatible")
    from runtime.models import openai_client

    return openai_client
