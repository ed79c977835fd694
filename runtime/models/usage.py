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
    parts: Iterable[types.GenerateContentResponseUsageMetadata],
) -> types.GenerateContentResponseUsageMetadata:
    """Return the sum of each count; a count that no part has is None."""
    parts = list(parts)
    sums = {name: [count for part in parts if (count := getattr(part, name)) is not None] for name in _COUNTS}
    known = {name: sum(counts) for name, counts in sums.items() if counts}
    return types.GenerateContentResponseUsageMetadata(**known)
