"""Tokens and cost of model calls: of one response, of stored events, and by model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import BigIntegerField, Count, QuerySet, Sum
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform

from runtime.models import LlmResponse
from sessions_app.conf import Conf
from sessions_app.models import Event

PER_MILLION = 1e-6
MOST_TOKENS = 2**31 - 1
"""Largest count that is believed; the JSON keeps what the event said."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one or more model calls.

    Attributes:
        prompt: all tokens of the input, the cached ones included.
        cached: tokens of the input that came from the model's cache.
        thoughts: tokens of the model's thoughts.
        output: tokens of the answer, without thoughts.
    """

    prompt: int = 0
    cached: int = 0
    thoughts: int = 0
    output: int = 0

    @classmethod
    def of_json(cls, metadata: object) -> Self:
        """Return the usage that the `usageMetadata` of a stored event tells; odd values count as 0."""
        if not isinstance(metadata, Mapping):
            return cls()
        return cls(**{field: sum(_count(metadata.get(key)) for key in keys) for field, keys in _KEYS.items()})

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

    def __add__(self, other: Usage) -> Usage:
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
        read = (self.prompt - self.cached) * price.input + self.cached * for_cached
        return PER_MILLION * (read + (self.thoughts + self.output) * price.output)


@dataclass(frozen=True)
class ModelUsage:
    """Model calls of one model: their number, tokens and cost; the cost is None for a model without a price."""

    model: str
    calls: int
    usage: Usage
    cost: float | None


def tokens_of(response: LlmResponse) -> int:
    """Return the number of tokens of the model call behind a response, such as an event."""
    return (response.usage_metadata.total_token_count or 0) if response.usage_metadata else 0


def cost_of(response: LlmResponse, conf: Conf) -> float:
    """Return the cost of the model call behind a response, such as an event; 0.0 for a model without a price."""
    usage = Usage.of(response)
    return (usage.cost(response.model_version or "", conf) or 0.0) if usage else 0.0


def usage_by_model(events: QuerySet[Event], conf: Conf) -> list[ModelUsage]:
    """Return the use of each model behind the events, in one query."""
    rows: Any = (
        events.order_by()
        .filter(body__has_key="usageMetadata")
        .values(model=KeyTextTransform("modelVersion", "body"))
        .annotate(calls=Count("*"), **{field: Sum(_stored(keys)) for field, keys in _KEYS.items()})
        .order_by("model")
    )
    return [_model_usage(row, conf) for row in rows]


def _model_usage(row: Mapping[str, Any], conf: Conf) -> ModelUsage:
    model, usage = row["model"] or "", Usage(**{field: row[field] or 0 for field in _KEYS})
    return ModelUsage(model, row["calls"], usage, usage.cost(model, conf))


_KEYS = {
    "prompt": ("promptTokenCount", "toolUsePromptTokenCount"),
    "cached": ("cachedContentTokenCount",),
    "thoughts": ("thoughtsTokenCount",),
    "output": ("candidatesTokenCount",),
}
"""Keys of `usageMetadata` whose counts are added up, by the field of `Usage`."""


def _count(value: object) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= MOST_TOKENS else 0  # type: ignore[operator, call-overload]


def _stored(keys: tuple[str, ...]) -> RawSQL:
    """Return an expression for the sum of these counts of an event, by the rules of `_count`."""
    paths = (f"strict $.usageMetadata.{key} ? (@ >= 0 && @ <= {MOST_TOKENS})" for key in keys)
    counts = (f"jsonb_path_query_first(body, '{path}', '{{}}', true)" for path in paths)
    added = " + ".join(f"coalesce(trunc({count}::numeric), 0)" for count in counts)
    return RawSQL(added, (), output_field=BigIntegerField())  # noqa: S611  # no value from outside
