"""Tokens and cost of model calls: of a response, and of a stored event."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from runtime.models import LlmResponse
from sessions_app.conf import Conf

PER_MILLION = 1e-6
MAX_TOKENS = 2**31 - 1
"""Largest count in a sum, the limit of an integer in PostgreSQL. A larger count counts as 0; the event keeps it."""


@dataclass(frozen=True)
class Usage:
    """Tokens of model calls.

    Attributes:
        prompt: all tokens of the input, including cached tokens.
        cached: tokens of the input from the model's cache.
        thoughts: tokens of the model's thoughts.
        output: tokens of the answer, without thoughts.
    """

    prompt: int = 0
    cached: int = 0
    thoughts: int = 0
    output: int = 0

    @classmethod
    def of_json(cls, metadata: object) -> Self:
        """Return the usage in the `usageMetadata` of an event. Anything but a number up to `MAX_TOKENS` counts as 0."""
        if not isinstance(metadata, Mapping):
            return cls()
        counts = {key: _count(value) for key, value in metadata.items()}
        return cls(
            prompt=counts.get("promptTokenCount", 0) + counts.get("toolUsePromptTokenCount", 0),
            cached=counts.get("cachedContentTokenCount", 0),
            thoughts=counts.get("thoughtsTokenCount", 0),
            output=counts.get("candidatesTokenCount", 0),
        )

    @classmethod
    def of(cls, response: LlmResponse) -> Self:
        """Return the usage of the model call behind a response, such as an event."""
        used = response.usage_metadata
        if used is None:
            return cls()
        return cls(
            prompt=(used.prompt_token_count or 0) + (used.tool_use_prompt_token_count or 0),
            cached=used.cached_content_token_count or 0,
            thoughts=used.thoughts_token_count or 0,
            output=used.candidates_token_count or 0,
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.thoughts + other.thoughts,
            self.output + other.output,
        )

    def __bool__(self) -> bool:
        return self != Usage()

    def cost(self, model: str, conf: Conf) -> float | None:
        """Return the cost by the prices of a model; None for a model without a price."""
        price = conf.price(model)
        if price is None:
            return None
        for_cached = price.input if price.cached_input is None else price.cached_input
        # Providers include cached tokens in the prompt, and bill thoughts like the answer.
        read = (self.prompt - self.cached) * price.input + self.cached * for_cached
        return PER_MILLION * (read + (self.thoughts + self.output) * price.output)


def tokens_of(response: LlmResponse) -> int:
    """Return the number of tokens of the model call behind a response, such as an event."""
    if not response.usage_metadata:
        return 0
    return response.usage_metadata.total_token_count or 0


def cost_of(response: LlmResponse, conf: Conf) -> float:
    """Return the cost of the model call behind a response, such as an event; 0.0 for a model without a price."""
    if response.usage_metadata is None:
        return 0.0
    return Usage.of(response).cost(response.model_version or "", conf) or 0.0


def _count(value: object) -> int:
    # A bool is an int in Python. Events of clients may have any JSON here.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= MAX_TOKENS else 0  # type: ignore[operator, call-overload]
