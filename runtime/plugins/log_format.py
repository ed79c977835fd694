"""Format values as short log lines, with secrets masked and long values truncated.

Arguments and results of tools may have any size and depth; the limits keep each value on one readable line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from runtime import types

MAX_TEXT_LENGTH = 200
MAX_ITEMS = 20
MAX_DEPTH = 6

_SECRET_KEY = re.compile(
    r"passw(or)?d|secret|token|api_?key|authorization|credential|cookie|private_?key", re.IGNORECASE
)
_SECRET_TEXT = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)


def format_value(value: object) -> str:
    """Return the value as one line of JSON."""
    return json.dumps(_simplify(value, MAX_DEPTH), ensure_ascii=False)


def format_content(content: types.Content | None) -> str:
    """Return the parts of a content on a single line, separated by ` | `."""
    parts = (content.parts or []) if content else []
    return " | ".join(_format_part(part) for part in parts) or "nothing"


def shorten(text: str, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Return the text on one line, with HTTP credentials masked. Truncate a long text and add its length."""
    line = " ".join(_SECRET_TEXT.sub(r"\1 ***", text).split())
    return line if len(line) <= max_length else f"{line[:max_length]}… ({len(text)} characters)"


def _simplify(value: object, depth: int) -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return _simplify_mapping(value, depth) if depth else "{…}"
    if isinstance(value, list | tuple | set | frozenset):
        return _simplify_sequence(value, depth) if depth else "[…]"
    return shorten(str(value))


def _simplify_mapping(fields: Mapping[Any, object], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in islice(fields.items(), MAX_ITEMS):
        # Numbers under such names are harmless, such as counts of tokens.
        is_secret = _SECRET_KEY.search(str(name)) and not isinstance(value, bool | int | float | None)
        shown[str(name)] = "***" if is_secret else _simplify(value, depth - 1)
    if len(fields) > MAX_ITEMS:
        shown["…"] = f"{len(fields) - MAX_ITEMS} more"
    return shown


def _simplify_sequence(items: Collection[object], depth: int) -> list[Any]:
    shown = [_simplify(item, depth - 1) for item in islice(items, MAX_ITEMS)]
    if len(items) > MAX_ITEMS:
        shown.append(f"… {len(items) - MAX_ITEMS} more")
    return shown


def _format_part(part: types.Part) -> str:
    if part.text is not None:
        return f"{'thought' if part.thought else 'text'}: {shorten(part.text)}"
    if part.function_call:
        return f"call {part.function_call.name}{format_value(part.function_call.args or {})}"
    if part.function_response:
        return f"response {part.function_response.name}{format_value(part.function_response.response or {})}"
    if part.inline_data:
        return f"file {part.inline_data.mime_type}, {len(part.inline_data.data or b'')} bytes"
    if part.file_data:
        return f"file {shorten(part.file_data.file_uri or '')}"
    if part.executable_code:
        return f"code: {shorten(part.executable_code.code or '')}"
    if part.code_execution_result:
        return f"code result: {shorten(part.code_execution_result.output or '')}"
    return "another part"
