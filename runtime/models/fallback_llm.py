"""A model that falls back to the next of several models when a call fails."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from runtime.errors import ConfigurationError, ModelError
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_group import LlmGroup, as_models, ask_one
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.models.retry import note_failed_attempt

logger = logging.getLogger(__name__)


class FallbackLlm(LlmGroup):
    """Call models in order until one answers: `FallbackLlm(["gemini-2.5-flash", Claude()])`.

    The next model is called after a `ModelError`, raised when the retries of the earlier model are used up. A refusal
    is an answer. A failure after a part of an answer has arrived is reported as for a single model.
    """

    def __init__(self, models: Sequence[BaseLlm | str], **fields: Any) -> None:
        if not models:
            raise ConfigurationError("FallbackLlm needs at least one model.")
        resolved = as_models(models)
        names = " or ".join(model.model for model in resolved)
        super().__init__(**{"models": resolved, "model": names, **fields})

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request as `BaseLlm` describes; raise the error of the last model."""
        *earlier, last = self.models
        for model in earlier:
            has_begun = False
            try:
                async with aclosing(ask_one(model, llm_request, stream)) as responses:
                    async for response in responses:
                        has_begun = True
                        yield response
                return
            except ModelError as error:
                # No answer mixes the texts of two models.
                if has_begun:
                    raise
                note_failed_attempt(error)
                logger.warning("Model %r failed; the next model is asked: %s", model.model, error)
        async with aclosing(ask_one(last, llm_request, stream)) as responses:
            async for response in responses:
                yield response
