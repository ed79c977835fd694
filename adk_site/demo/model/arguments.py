"""Fill the arguments of a function call from the person's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from adk_site.demo.model.times import (
    TASK_PARAMETER,
    TIME_PARAMETERS,
    has_start_time,
    time_argument,
    without_times,
)
from adk_site.demo.model.words import stem, stems
from runtime import types

_QUOTED = re.compile(r"""["“”«]([^"“”»]+)["“”»]""")
_AFTER_COLON = re.compile(r":\s+(\S.*)", re.DOTALL)
_AFTER_PREPOSITION = re.compile(
    r"\b(?:about|regarding|concerning|on|for|in|of|to)\s+([^,;.!?\n]+)", re.IGNORECASE
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"\b(?=\w*\d)[\w-]+")
_CALLED = re.compile(
    r"\b(?:my name(?: is|'s)|call me|name:)\s+([^\W\d][\w'-]*(?: (?!(?:and|but|from|please|i)\b)[\w'-]+){0,2})",
    re.I,
)
_I_AM = re.compile(r"\b(?:I am|I'm|i am|i'm)\s+([A-Z][\w'-]+(?: [A-Z][\w'-]+)*)")

# Words of parameter names that take the whole message as their value.
_MESSAGE_PARAMETERS = {
    "problem",
    "message",
    "text",
    "request",
    "question",
    "query",
    "description",
    "subject",
    "reason",
    "input",
}


@dataclass(frozen=True)
class Arguments:
    """Arguments found in the words, and the required parameters without a value."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def fill_arguments(parameters: types.Schema | None, words: str) -> Arguments:
    """Find a value for each parameter in the words. Parameters that the words do not mention get no value."""
    arguments = Arguments()
    numbers = iter(_NUMBER.findall(without_times(words)))
    for name, schema in ((parameters.properties or {}) if parameters else {}).items():
        value = _find_value(name, schema, words, numbers)
        if value is not None:
            arguments.values[name] = value
        elif parameters and name in (parameters.required or []):
            arguments.missing.append(name)
    return arguments


def _find_value(name: str, schema: types.Schema, words: str, numbers: Iterator[str]) -> Any:
    if name in TIME_PARAMETERS:
        return time_argument(name, words)
    if _is_number(schema):
        number = next(numbers, None)
        return None if number is None else _as_number(number, schema)
    return _READERS.get(schema.type, _no_value)(name, schema, words)


def _is_number(schema: types.Schema) -> bool:
    return schema.type in (types.Type.INTEGER, types.Type.NUMBER)


def _as_number(text: str, schema: types.Schema) -> int | float:
    return int(float(text)) if schema.type is types.Type.INTEGER else float(text)


def _find_text(name: str, schema: types.Schema, words: str) -> str | None:
    if schema.enum:
        return _find_mentioned(schema.enum, words)
    name_words = set(name.lower().split("_"))
    if "name" in name_words:
        return _first_match(words, _CALLED, _I_AM)
    if "email" in name_words:
        return _first_match(words, _EMAIL)
    if name_words & {"id", "number", "code", "reference"}:
        return _first_match(words, _CODE)
    if name == TASK_PARAMETER and has_start_time(words):
        return without_times(words) or None
    if name_words & _MESSAGE_PARAMETERS:
        return _first_match(words, _QUOTED, _AFTER_COLON) or words.strip() or None
    return _first_match(words, _QUOTED, _AFTER_COLON, _AFTER_PREPOSITION)


def _find_list(name: str, schema: types.Schema, words: str) -> list[str] | None:
    items = schema.items
    if items and items.enum:
        return [value for value in items.enum if _find_mentioned([value], words)] or None
    if not items or items.type is not types.Type.STRING:
        return None
    listed = [item for item in re.split(r",\s*|\s+and\s+", _first_match(words, _AFTER_COLON) or "") if item]
    return _QUOTED.findall(words) or (listed if len(listed) > 1 else None)


def _find_boolean(name: str, schema: types.Schema, words: str) -> bool | None:
    return True if stems(name) & stems(words) else None


def _no_value(name: str, schema: types.Schema, words: str) -> None:
    """Return None: the demo model does not fill objects and unions."""


_READERS: dict[types.Type | None, Callable[[str, types.Schema, str], Any]] = {
    types.Type.STRING: _find_text,
    types.Type.ARRAY: _find_list,
    types.Type.BOOLEAN: _find_boolean,
}


def _find_mentioned(values: list[str], words: str) -> str | None:
    """Return the first value that the words mention; a longer word such as `monthly` mentions `month`."""
    spoken = stems(words)
    for value in values:
        if all(any(word.startswith(stem(part)) for word in spoken) for part in value.lower().split()):
            return value
    return None


def _first_match(words: str, *patterns: re.Pattern[str]) -> str | None:
    """Return the text that the first matching pattern captures."""
    for pattern in patterns:
        if match := pattern.search(words):
            return match[match.lastindex or 0].strip(" .,;!?\n") or None
    return None
