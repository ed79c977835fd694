"""JSON values as readable text: one line per value, indented under its label."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from sessions_app.secrets.masking import beginning_of, shortened

DEEPEST_LEVEL = 6
INDENT = "  "
MAX_VALUE_LENGTH = 200


def outline(value: Any, longest: int | None) -> tuple[str, bool]:
    """Return a text, or the labelled lines of another JSON value, and True if something was cut.

    Args:
        longest: maximum number of characters; None for no limit.
    """
    # Lines are made one by one, so a huge value costs no more than its visible beginning.
    kept = []
    length = -1
    for line in _lines(value, 0):
        kept.append(line)
        length += len(line) + 1
        if longest is not None and length > longest:
            return beginning_of("\n".join(kept), longest), True
    return "\n".join(kept), False


def one_line(value: Any) -> str:
    """Return a JSON value on one line of limited length."""
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return shortened(" ".join(text.splitlines()), MAX_VALUE_LENGTH)


def as_words(name: str) -> str:
    """Return an identifier as words: `order_id` becomes "Order id"."""
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def labels_of(names: Iterable[str]) -> dict[str, str]:
    """Return a label for each name: the name as words, or the name itself if labels would be equal."""
    # `amount` and `Amount`, or `order_id` and `order-id`, must stay apart in a call that a user approves.
    by_words: dict[str, list[str]] = {}
    for name in names:
        by_words.setdefault(as_words(name).casefold(), []).append(name)
    labels = {}
    for alike in by_words.values():
        for name in alike:
            labels[name] = as_words(name) if len(alike) == 1 else name
    return labels


def _lines(value: Any, level: int) -> Iterator[str]:
    if _is_nested(value) and level == DEEPEST_LEVEL:
        yield json.dumps(value, ensure_ascii=False, sort_keys=True)
    elif _is_nested(value):
        if isinstance(value, Mapping):
            yield from _mapping_lines(value, level)
        else:
            yield from _list_lines(value, level)
    else:
        yield from _scalar(value).split("\n")


def _mapping_lines(value: Mapping[str, Any], level: int) -> Iterator[str]:
    labels = labels_of(str(key) for key in value)
    for key, item in sorted(value.items()):
        name = labels[str(key)]
        if _is_nested(item) or (isinstance(item, str) and "\n" in item):
            yield f"{name}:"
            yield from (INDENT + line for line in _lines(item, level + 1))
        else:
            yield f"{name}: {_scalar(item)}"


def _list_lines(value: Sequence[Any], level: int) -> Iterator[str]:
    for item in value:
        mark = "- "
        for line in _lines(item, level + 1):
            yield f"{mark}{line}"
            mark = INDENT


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if value is None or (isinstance(value, Mapping | list) and not value):
        return gettext("none")
    return str(value)
