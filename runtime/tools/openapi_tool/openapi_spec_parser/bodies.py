"""Bodies of requests: JSON, form, multipart, text."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from runtime.tools.openapi_tool.openapi_spec_parser.parameters import ApiBody, ApiParameter, is_json
from runtime.tools.openapi_tool.openapi_spec_parser.references import as_object, as_text
from runtime.tools.openapi_tool.openapi_spec_parser.styles import query_pairs, text_of

_Part = tuple[str, tuple[str | None, bytes, str | None]]


def encode_body(body: ApiBody, value: Any) -> tuple[str, bytes]:
    """Return the content type and the bytes of a body. The value of a form is an object."""
    kind = body.media_type.split(";")[0].strip()
    if is_json(kind):
        content_type = "application/json" if "*" in kind else body.media_type
        return content_type, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    if kind == "application/x-www-form-urlencoded":
        return kind, _form(body, as_object(value)).encode()
    if kind == "multipart/form-data":
        return _multipart(body, as_object(value))
    return body.media_type, text_of(value).encode("utf-8", "replace")


def _form(body: ApiBody, fields: dict[str, Any]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        encoding = as_object(body.encoding.get(name))
        style = as_text(encoding.get("style")) or "form"
        explode = encoding.get("explode", style == "form") is True
        # An object in a form has no style of its own; JSON keeps its fields together.
        is_plain = not isinstance(value, dict) or "style" in encoding
        field = ApiParameter("", str(name), "body", style=style, explode=explode)
        pairs += query_pairs(field, value if is_plain else text_of(value))
    return "&".join(f"{name}={value}" for name, value in pairs)


def _multipart(body: ApiBody, fields: dict[str, Any]) -> tuple[str, bytes]:
    parts: list[_Part] = []
    for name, value in fields.items():
        schema = as_object(as_object(body.properties).get(name))
        items = value if isinstance(value, list) else [value]
        described = as_object(schema.get("items")) if isinstance(value, list) else schema
        declared = as_text(as_object(body.encoding.get(name)).get("contentType")) or None
        parts += [(str(name), _part(str(name), item, described, declared)) for item in items]
    request = httpx2.Request("POST", "http://multipart", files=parts)
    return request.headers["Content-Type"], request.read()


def _part(
    name: str, value: Any, schema: dict[str, Any], content_type: str | None
) -> tuple[str | None, bytes, str | None]:
    is_file = schema.get("format") in ("binary", "base64") or "contentMediaType" in schema
    if not content_type and isinstance(value, dict | list):
        content_type = "application/json"
    return name if is_file else None, text_of(value).encode("utf-8", "replace"), content_type
