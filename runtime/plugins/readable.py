"""Values as short lines for a log: without secrets, without bulk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from runtime import types

LONGEST_TEXT = 200
MOST_ITEMS = 20
DEEPEST = 6

_SECRET_KEY = re.compile(
    r"passw(or)?d|secret|token|api_?key|authorization|credential|cookie|private_?key", re.IGNORECASE
)
_SECRET_TEXT = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)


def readable(value: object) -> str:
    """The value as one line of JSON."""
    return json.dumps(_shown(value, DEEPEST), ensure_ascii=False)


def readable_content(content: types.Content | None) -> str:
    """What a content says, part by part."""
    parts = (content.parts or []) if content else []
    return " | ".join(_part(part) for part in parts) or "nothing"


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text, or its beginning and how long it is, on one line and without what follows `Bearer`."""
    line = " ".join(_SECRET_TEXT.sub(r"\1 ***", text).split())
    return line if len(line) <= longest else f"{line[:longest]}… ({len(text)} characters)"


def _shown(value: object, depth: int) -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return _shown_fields(value, depth) if depth else "{…}"
    if isinstance(value, list | tuple | set | frozenset):
        return _shown_items(value, len(value), depth) if depth else "[…]"
    return cut(str(value))


def _shown_fields(fields: Mapping[Any, object], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in list(fields.items())[:MOST_ITEMS]:
        is_secret = _SECRET_KEY.search(str(name)) and not isinstance(value, bool | int | float | None)
        shown[str(name)] = "***" if is_secret else _shown(value, depth - 1)
    if len(fields) > MOST_ITEMS:
        shown["…"] = f"{len(fields) - MOST_ITEMS} more"
    return shown


def _shown_items(items: Iterable[object], count: int, depth: int) -> list[Any]:
    shown = [_shown(item, depth - 1) for item in list(items)[:MOST_ITEMS]]
    return [*shown, f"… {count - MOST_ITEMS} more"] if count > MOST_ITEMS else shown


def _part(part: types.Part) -> str:
    if part.text is not None:
        return f"{'thought' if part.thought else 'text'}: {cut(part.text)}"
    if part.function_call:
        return f"call {part.function_call.name}{readable(part.function_call.args or {})}"
    if part.function_response:
        return f"response {part.function_response.name}{readable(part.function_response.response or {})}"
    if part.inline_data:
        return f"file {part.inline_data.mime_type}, {len(part.inline_data.data or b'')} bytes"
    if part.file_data:
        return f"file {cut(part.file_data.file_uri or '')}"
    if part.executable_code:
        return f"code: {cut(part.executable_code.code or '')}"
    if part.code_execution_result:
        return f"code result: {cut(part.code_execution_result.output or '')}"
    return "another part"
