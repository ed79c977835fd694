"""Anthropic's Claude as a model of agents."""

from typing import Any, ClassVar

from pydantic import Field

from runtime.models.anthropic_request import as_message
from runtime.models.base_llm import BaseLlm, Capabilities  # noqa: F401  # programs import the first from here
from runtime.models.http_llm import HttpLlm, PreparedCall
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse  # noqa: F401  # programs import it from here
from runtime.models.loop_clients import Access
from runtime.models.retry import timeout_of

_KEY_VARIABLE = "ANTHROPIC_API_KEY"


class Claude(HttpLlm):
    """Claude through the official `anthropic` client.

    Thoughts are sent back with the signature that Claude gave them; thoughts of other models are left out.
    `api_key` None reads `ANTHROPIC_API_KEY`, `base_url` None reads `ANTHROPIC_BASE_URL`.

    Attributes:
        max_tokens: limit of an answer without its thoughts, for requests without `max_output_tokens`.
        client: the author's own `anthropic.AsyncAnthropic`, such as one of a cloud; it works in one event loop.
    """

    model: str = "claude-sonnet-5-5"
    max_tokens: int = 8192
    client: Any = Field(default=None, repr=False, exclude=True)

    _package: ClassVar[str] = "anthropic"

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"anthropic/.+", r"claude-.+"]

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(schema_with_tools=True)

    def _missing_key(self, model: str) -> str | None:
        if self.client or self._key(_KEY_VARIABLE):
            return None
        return _KEY_VARIABLE

    async def _prepare(self, llm_request: LlmRequest) -> PreparedCall:
        name = llm_request.model or self.model
        module = await self._import_client(name, "anthropic_client")
        arguments = as_message(llm_request, name, self.max_tokens)
        client = self.client
        if client is None:
            client = await module.CLIENTS.for_running_loop(Access(self._key(_KEY_VARIABLE), self.base_url))
        model = name.removeprefix("anthropic/")
        call: PreparedCall = module.MessageCall(
            client, model, arguments, timeout_of(llm_request, self.timeout)
        )
        return call


AnthropicLlm = Claude
