"""Rates at which models may be called, and the function through which the runtime calls every model.

The runtime counts nothing itself: the site sets a function that finds the rate of a model, shared by all processes.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Protocol

from runtime.errors import ModelError
from runtime.models.base_llm import BaseLlm
from runtime.models.embeddings import Embeddings
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse


class ModelRate(Protocol):
    """Requests and tokens of a model in the last minute, with their limits."""

    async def wait(self) -> None:
        """Wait until the model may be called, and count the request.

        Raises:
            ModelError: the wait would be too long.
        """

    def add_tokens(self, tokens: int) -> None:
        """Count the tokens of an answer, without waiting."""


FindRate = Callable[[str], ModelRate | None]
"""Return the rate of the model with this name; None if it has no limit."""

_find_rate: FindRate | None = None


def set_model_rates(find: FindRate | None) -> None:
    """Set the function that finds the rates for this process; None removes all limits."""
    global _find_rate
    _find_rate = find


def ask(model: BaseLlm, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    """Return the responses of a model to a request, sent as soon as the model's rate allows."""
    # A group of models calls `ask` again for the chosen model, whose rate counts.
    if _find_rate and not model.asks_others:
        rate = _find_rate(llm_request.model or model.model)
        if rate is not None:
            return _ask_at_rate(rate, model, llm_request, stream)
    return model.generate_content_async(llm_request, stream=stream)


async def ask_for_whole(model: BaseLlm, llm_request: LlmRequest) -> LlmResponse:
    """Return the whole response of a model to a request, sent as soon as the model's rate allows.

    Raises:
        ModelError: the call failed, or the response reports an error.
    """
    whole = LlmResponse()
    async with aclosing(ask(model, llm_request, stream=False)) as responses:
        async for response in responses:
            if not response.partial:
                whole = response
    if whole.error_code:
        raise ModelError(whole.error_code, whole.error_message or "", whole.error_detail or "")
    return whole


async def _ask_at_rate(
    rate: ModelRate, model: BaseLlm, llm_request: LlmRequest, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    await rate.wait()
    tokens = 0
    try:
        async with aclosing(model.generate_content_async(llm_request, stream=stream)) as responses:
            async for response in responses:
                used = response.usage_metadata
                # Partial responses report the usage so far, so the latest value is the total.
                tokens = (used and used.total_token_count) or tokens
                yield response
    finally:
        # Also for an answer that was stopped: the provider has counted its tokens.
        if tokens:
            rate.add_tokens(tokens)


async def embed(model: BaseLlm, texts: Sequence[str], dimensions: int) -> Embeddings:
    """Return the vectors of the texts, made as soon as the model's rate allows; raise the errors of `BaseLlm.embed`."""
    rate = _find_rate(model.model) if _find_rate else None
    if rate is None:
        return await model.embed(texts, dimensions)
    await rate.wait()
    made = await model.embed(texts, dimensions)
    rate.add_tokens(made.tokens)
    return made
