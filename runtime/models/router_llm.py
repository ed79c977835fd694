"""A model that lets a function of the request choose the model to call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from pydantic import Field

from runtime.errors import ConfigurationError
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_group import LlmGroup, as_models, ask_one
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse

Choose = Callable[[LlmRequest], str]
"""Return the key of the model to call for a request. The function must not change the request."""


class RouterLlm(LlmGroup):
    """Call the model chosen by a function: `RouterLlm(choose, {"short": "gemini-2.5-flash", "long": Claude()})`.

    Each request of a turn is routed separately.

    Attributes:
        choose: the function; if it raises an exception, the call fails.
        routes: the models by their keys.

    Raises:
        ConfigurationError: there is no model.
    """

    choose: Choose = Field(exclude=True)
    routes: dict[str, BaseLlm]

    def __init__(self, choose: Choose, models: Mapping[str, BaseLlm | str], **fields: Any) -> None:
        if not models:
            raise ConfigurationError("RouterLlm needs at least one model.")
        resolved = as_models(models.values())
        routes = dict(zip(models, resolved, strict=True))
        names = " or ".join(model.model for model in resolved)
        super().__init__(**{"choose": choose, "routes": routes, "models": resolved, "model": names, **fields})

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes.

        Raises:
            ConfigurationError: the function returned a key without a model.
        """
        key = self.choose(llm_request)
        if key not in self.routes:
            raise ConfigurationError(
                f"The function of RouterLlm chose {key!r}. Choose one of its models: {', '.join(self.routes)}."
            )
        async with aclosing(ask_one(self.routes[key], llm_request, stream)) as responses:
            async for response in responses:
                yield response
