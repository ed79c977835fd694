"""Fills the arguments of a call from the person's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from adk_site.demo.model.times import READ_HERE, TASK, says_when, time_argument, without_times
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

# Texts that are the message itself, whatever it is about.
_MESSAGES = {
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
    """What the words gave, and the required parameters that they left open."""

    values: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


def fill(parameters: types.Schema | None, words: str) -> Arguments:
    """Find a value for each parameter. What is not said is left to its default."""
    arguments = Arguments()
    numbers = iter(_NUMBER.findall(without_times(words)))
    for name, schema in ((parameters.properties or {}) if parameters else {}).items():
        value = _value(name, schema, words, numbers)
        if value is not None:
            arguments.values[name] = value
        elif parameters and name in (parameters.required or []):
            arguments.missing.append(name)
    return arguments


def _value(name: str, schema: types.Schema, words: str, numbers: Iterator[str]) -> Any:
    if name in READ_HERE:
        return time_argument(name, words)
    if _is_number(schema):
        said = next(numbers, None)
        return None if said is None else _as_number(said, schema)
    return _READERS.get(schema.type, _nothing)(name, schema, words)


def _is_number(schema: types.Schema) -> bool:
    return schema.type in (types.Type.INTEGER, types.Type.NUMBER)


def _as_number(text: str, schema: types.Schema) -> int | float:
    return int(float(text)) if schema.type is types.Type.INTEGER else float(text)


def _text(name: str, schema: types.Schema, words: str) -> str | None:
    if schema.enum:
        return _mentioned(schema.enum, words)
    kinds = set(name.lower().split("_"))
    if "name" in kinds:
        return _first(words, _CALLED, _I_AM)
    if "email" in kinds:
        return _first(words, _EMAIL)
    if kinds & {"id", "number", "code", "reference"}:
        return _first(words, _CODE)
    if name == TASK and says_when(words):
        return without_times(words) or None
    if kinds & _MESSAGES:
        return _first(words, _QUOTED, _AFTER_COLON) or words.strip() or None
    return _first(words, _QUOTED, _AFTER_COLON, _AFTER_PREPOSITION)


def _list(name: str, schema: types.Schema, words: str) -> list[str] | None:
    items = schema.items
    if items and items.enum:
        return [value for value in items.enum if _mentioned([value], words)] or None
    if not items or items.type is not types.Type.STRING:
        return None
    listed = [item for item in re.split(r",\s*|\s+and\s+", _first(words, _AFTER_COLON) or "") if item]
    return _QUOTED.findall(words) or (listed if len(listed) > 1 else None)


def _boolean(name: str, schema: types.Schema, words: str) -> bool | None:
    return True if stems(name) & stems(words) else None


def _nothing(name: str, schema: types.Schema, words: str) -> None:
    """Objects and unions are beyond us."""


_READERS: dict[types.Type | None, Callable[[str, types.Schema, str], Any]] = {
    types.Type.STRING: _text,
    types.Type.ARRAY: _list,
    types.Type.BOOLEAN: _boolean,
}


def _mentioned(values: list[str], words: str) -> str | None:
    """The value that the words mention: `month` is meant by `monthly`, too."""
    said = stems(words)
    for value in values:
        if all(any(word.startswith(stem(part)) for word in said) for part in value.lower().split()):
            return value
    return None


def _first(words: str, *patterns: re.Pattern[str]) -> str | None:
    """What the first pattern that matches has caught."""
    for pattern in patterns:
        if match := pattern.search(words):
            return match[match.lastindex or 0].strip(" .,;!?\n") or None
    return None
