"""Values of parameters in the styles of OpenAPI (`style`, `explode`), percent-encoded (RFC 3986)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from runtime.tools.openapi_tool.openapi_spec_parser.parameters import ApiParameter

RESERVED = ":/?#[]@!$&'()*+,;="

Encode = Callable[[str], str]
_SEPARATORS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def text_of(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def percent_encoded(text: str, safe: str = "") -> str:
    # A model may write half of a surrogate pair, which UTF-8 cannot encode.
    return quote(text, safe=safe, errors="replace")


def path_text(parameter: ApiParameter, value: Any) -> str:
    """Return the text for a placeholder of a path: styles simple, label and matrix."""
    name = percent_encoded(parameter.original_name)
    if parameter.style == "label":
        return "." + _joined(value, parameter.explode, percent_encoded, "." if parameter.explode else ",")
    if parameter.style != "matrix":
        return _joined(value, parameter.explode, percent_encoded)
    if parameter.explode and isinstance(value, list):
        return "".join(f";{name}={percent_encoded(text_of(item))}" for item in value)
    if parameter.explode and isinstance(value, dict):
        return ";" + _joined(value, True, percent_encoded, ";")
    return f";{name}={_joined(value, False, percent_encoded)}"


def query_pairs(parameter: ApiParameter, value: Any) -> list[tuple[str, str]]:
    """Return names and values of a query or of a form: styles form, spaceDelimited, pipeDelimited, deepObject."""
    name = percent_encoded(parameter.original_name)
    kept = RESERVED.replace("&", "") if parameter.allow_reserved else ""

    def encode(text: str) -> str:
        return percent_encoded(text, kept)

    is_deep = parameter.style == "deepObject"
    if isinstance(value, dict) and (is_deep or parameter.explode):
        pairs = []
        for key, item in value.items():
            member = percent_encoded(str(key))
            pairs.append((f"{name}%5B{member}%5D" if is_deep else member, encode(text_of(item))))
        return pairs
    if isinstance(value, list) and parameter.explode:
        return [(name, encode(text_of(item))) for item in value]
    separator = _SEPARATORS.get(parameter.style, ",")
    return [(name, _joined(value, False, encode, separator))]


def header_text(parameter: ApiParameter, value: Any) -> str:
    """Return the value of a header: style simple, not percent-encoded."""
    return _joined(value, parameter.explode, str)


def _joined(value: Any, explode: bool, encode: Encode, separator: str = ",") -> str:
    if isinstance(value, list):
        return separator.join(encode(text_of(item)) for item in value)
    if not isinstance(value, dict):
        return encode(text_of(value))
    between = "=" if explode else separator
    members = [encode(str(key)) + between + encode(text_of(item)) for key, item in value.items()]
    return separator.join(members)
