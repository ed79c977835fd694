"""Sums of the tokens of several model calls."""

from __future__ import annotations

from collections.abc import Iterable

from runtime import types

_COUNTS = (
    "prompt_token_count",
    "tool_use_prompt_token_count",
    "cached_content_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "total_token_count",
)


def sum_usage(
    usages: Iterable[types.GenerateContentResponseUsageMetadata],
) -> types.GenerateContentResponseUsageMetadata:
    """Return the sum of each count; a count that no usage has is None."""
    usages = list(usages)
    found = {name: [count for one in usages if (count := getattr(one, name)) is not None] for name in _COUNTS}
    sums = {name: sum(counts) for name, counts in found.items() if counts}
    return types.GenerateContentResponseUsageMetadata(**sums)
