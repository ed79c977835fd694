"""Models of the providers supported by the `litellm` package."""

from typing import Any, ClassVar

from pydantic import Field

from runtime.models.base_llm import BaseLlm  # noqa: F401  # programs import it from here
from runtime.models.http_llm import HttpLlm, PreparedCall
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse  # noqa: F401  # programs import it from here
from runtime.models.openai_request import as_chat_completion
from runtime.models.retry import timeout_of


class LiteLlm(HttpLlm):
    """A model by its name in LiteLLM: `LiteLlm(model="bedrock/anthropic.claude-…", aws_region_name="eu-central-1")`.

    Keys and endpoints come from the provider's environment variables, as LiteLLM documents them, or from `api_key` and
    `base_url` (or `api_base`). LiteLLM checks keys at the first call. Retries and the timeout work as in all models.

    Attributes:
        arguments: all further keyword arguments, passed to `litellm.acompletion` with each call.
        llm_client: an object whose `acompletion` is called in place of LiteLLM's, such as a `litellm.Router`.
    """

    arguments: dict[str, Any] = Field(default_factory=dict, repr=False, exclude=True)
    llm_client: Any = Field(default=None, repr=False, exclude=True)

    _package: ClassVar[str] = "litellm"

    def __init__(self, model: str, **arguments: Any) -> None:
        if "api_base" in arguments:
            arguments["base_url"] = arguments.pop("api_base")
        names = {*HttpLlm.model_fields, "llm_client"}.intersection(arguments)
        own = {name: arguments.pop(name) for name in names}
        super().__init__(**{**own, "model": model, "arguments": arguments})

    async def _prepare(self, llm_request: LlmRequest) -> PreparedCall:
        model = llm_request.model or self.model
        access = {"api_key": self.api_key, "base_url": self.base_url}
        arguments = {
            **self.arguments,
            **{name: value for name, value in access.items() if value is not None},
            **as_chat_completion(llm_request, model, "max_tokens"),
            "model": model,
        }
        module = await self._import_client(model, "lite_client")
        call: PreparedCall = module.LiteCall(
            arguments, timeout_of(llm_request, self.timeout), self.llm_client
        )
        return call
