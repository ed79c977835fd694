"""A model that stands for several: the next one answers when one fails."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from runtime.errors import ConfigurationError, ModelError
from runtime.models.base_llm import BaseLlm, Capabilities, SetupProblem
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.registry import LLMRegistry

logger = logging.getLogger(__name__)


class FallbackLlm(BaseLlm):
    """Asks models in order until one answers: `FallbackLlm(["gemini-2.5-flash", Claude()])`.

    The next model is asked when one raises a `ModelError`, its own retries included. Once a model has answered with
    anything, a later failure is reported like that of a single model, so that no answer mixes the texts of two. A
    refusal is an answer.

    Attributes:
        models: the models, in order.
        model: the names of all, for logs; each model is asked by its own name.
    """

    models: list[BaseLlm]

    def __init__(self, models: Sequence[BaseLlm | str], **fields: Any) -> None:
        if not models:
            raise ConfigurationError("FallbackLlm needs at least one model.")
        resolved = [LLMRegistry.new_llm(model) if isinstance(model, str) else model for model in models]
        names = " or ".join(model.model for model in resolved)
        super().__init__(**{"models": resolved, "model": names, **fields})

    @property
    def capabilities(self) -> Capabilities:
        """A request must suit every model."""
        return Capabilities(
            schema_with_tools=all(model.capabilities.schema_with_tools for model in self.models)
        )

    def setup_problems(self) -> list[SetupProblem]:
        return [problem for model in self.models for problem in model.setup_problems()]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes; raises the last model's error."""
        *earlier, last = self.models
        for model in earlier:
            has_begun = False
            try:
                async with aclosing(_ask(model, llm_request, stream)) as responses:
                    async for response in responses:
                        has_begun = True
                        yield response
                return
            except ModelError as error:
                if has_begun:
                    raise
                logger.warning("Model %r failed; the next one is asked: %s", model.model, error)
        async with aclosing(_ask(last, llm_request, stream)) as responses:
            async for response in responses:
                yield response


def _ask(model: BaseLlm, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    return model.generate_content_async(llm_request.model_copy(update={"model": model.model}), stream=stream)
