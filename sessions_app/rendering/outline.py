"""JSON values as text for people: one line for each value, indented under its label."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

DEEPEST_LEVEL = 6
INDENT = "  "


def outline(value: Any) -> str:
    """Return a text unchanged, and any other JSON value as labelled lines.

    Keys are sorted: storage loses their order.
    """
    return "\n".join(_lines(value, 0))


def label(name: str) -> str:
    """Return an identifier as words: `order_id` becomes "Order id"."""
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def _lines(value: Any, level: int) -> Iterator[str]:
    if isinstance(value, Mapping | list) and value and level == DEEPEST_LEVEL:
        yield json.dumps(value, ensure_ascii=False, sort_keys=True)
    elif isinstance(value, Mapping) and value:
        yield from _mapping_lines(value, level)
    elif isinstance(value, list) and value:
        yield from _list_lines(value, level)
    else:
        yield from _scalar(value).split("\n")


def _mapping_lines(value: Mapping[str, Any], level: int) -> Iterator[str]:
    for key, item in sorted(value.items()):
        lines = list(_lines(item, level + 1))
        if len(lines) == 1 and not _is_nested(item):
            yield f"{label(str(key))}: {lines[0]}"
        else:
            yield f"{label(str(key))}:"
            yield from (INDENT + line for line in lines)


def _list_lines(value: Sequence[Any], level: int) -> Iterator[str]:
    for item in value:
        first, *others = _lines(item, level + 1)
        yield f"- {first}"
        yield from (INDENT + line for line in others)


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, Mapping | list) and not value):
        return "none"
    return str(value)
