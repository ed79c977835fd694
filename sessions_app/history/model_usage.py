"""Tokens and cost of a model call."""

from __future__ import annotations

from runtime.models import LlmResponse
from sessions_app.conf import Conf

PER_MILLION = 1e-6


def tokens_of(response: LlmResponse) -> int:
    """Return the number of tokens of the model call behind a response, such as an event."""
    return (response.usage_metadata.total_token_count or 0) if response.usage_metadata else 0


def cost_of(response: LlmResponse, conf: Conf) -> float:
    """Return the cost of the model call behind a response, such as an event; 0.0 for a model without a price."""
    usage = response.usage_metadata
    price = conf.price(response.model_version or "") if usage else None
    if usage is None or price is None:
        return 0.0
    cached = usage.cached_content_token_count or 0
    fresh = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0) - cached
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    for_cached = price.input if price.cached_input is None else price.cached_input
    return PER_MILLION * (fresh * price.input + cached * for_cached + written * price.output)
