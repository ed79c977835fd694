"""Anthropic's Claude as a model of agents."""

from __future__ import annotations

import asyncio
import os
from types import ModuleType

from runtime.errors import ConfigurationError
from runtime.models.anthropic_request import as_message
from runtime.models.base_llm import Capabilities, SetupProblem
from runtime.models.call_limits import timeout_of
from runtime.models.http_llm import HttpLlm, PreparedCall, has_package, require_package
from runtime.models.llm_request import LlmRequest
from runtime.models.loop_clients import Access

_KEY_VARIABLE = "ANTHROPIC_API_KEY"


class Claude(HttpLlm):
    """Claude through the official `anthropic` client.

    Thoughts keep the signature that Claude gives them and are sent back with it; thoughts of other models are not.
    `api_key` None reads `ANTHROPIC_API_KEY`, `base_url` None reads `ANTHROPIC_BASE_URL`.

    Attributes:
        max_tokens: the limit of an answer, thoughts excluded, for requests without `max_output_tokens`.
    """

    model: str = "claude-sonnet-5-5"
    max_tokens: int = 8192

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"anthropic/.+", r"claude-.+"]

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(schema_with_tools=True)

    def setup_problems(self) -> list[SetupProblem]:
        problems = []
        if not has_package("anthropic"):
            problems.append(SetupProblem.missing_package("anthropic", self.model))
        if not self._key():
            problems.append(SetupProblem.missing_key(_KEY_VARIABLE, self.model))
        return problems

    async def _prepare(self, llm_request: LlmRequest) -> PreparedCall:
        name = llm_request.model or self.model
        key = self._key()
        if not key:
            raise ConfigurationError(
                f"Model {name!r} has no API key. Set {_KEY_VARIABLE} in the environment, or pass Claude(api_key=…)."
            )
        arguments = as_message(llm_request, name, self.max_tokens)
        # The first import takes seconds.
        module = await asyncio.to_thread(_client_module)
        client = await module.CLIENTS.for_running_loop(Access(key, self.base_url))
        model = name.removeprefix("anthropic/")
        call: PreparedCall = module.MessageCall(
            client, model, arguments, timeout_of(llm_request, self.timeout)
        )
        return call

    def _key(self) -> str | None:
        return self.api_key or os.environ.get(_KEY_VARIABLE)


AnthropicLlm = Claude


def _client_module() -> ModuleType:
    require_package("anthropic", "Claude")
    from runtime.models import anthropic_client

    return anthropic_client
