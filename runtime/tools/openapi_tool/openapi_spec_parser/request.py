"""Construction of the HTTP request of a call from a model's arguments.

The arguments are untrusted: they are percent-encoded (RFC 3986), and an argument in the path must not lead to another
path. Parameters have the styles of OpenAPI: `style` and `explode`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx2

from runtime.auth.placement import Placement
from runtime.tools.arguments import missing_arguments
from runtime.tools.openapi_tool.http_exchange import HttpRequest
from runtime.tools.openapi_tool.openapi_spec_parser.operations import OperationEndpoint
from runtime.tools.openapi_tool.openapi_spec_parser.parameters import (
    PLACEHOLDER,
    ApiBody,
    ApiParameter,
    is_json,
)
from runtime.tools.openapi_tool.openapi_spec_parser.references import as_object, as_text
from runtime.valid_text import json_text

Given = Sequence[tuple[ApiParameter, Any]]
_Part = tuple[str, tuple[str | None, bytes, str | None]]
RESERVED = ":/?#[]@!$&'()*+,;="
Encode = Callable[[str], str]
_SEPARATORS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


class BadArgumentsError(ValueError):
    """No request can be made from the model's arguments. The message is for the model."""


def build_request(
    endpoint: OperationEndpoint,
    parameters: Sequence[ApiParameter],
    body: ApiBody | None,
    args: Mapping[str, Any],
    auth: Placement,
) -> HttpRequest:
    """Return the request for a model's arguments. Drop unknown arguments.

    Raises:
        BadArgumentsError: a mandatory argument is missing, or a value would lead to another path.
    """
    given = _match_arguments(parameters, args)
    query: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    for item, value in given:
        if item.location == "query":
            query += query_pairs(item, value)
        elif item.location == "cookie":
            cookies += query_pairs(item, value)
        elif item.location == "header":
            headers[item.original_name] = header_text(item, value)
    query += [(percent_encoded(name), percent_encoded(value)) for name, value in auth.query]
    cookies += [(percent_encoded(name), percent_encoded(value)) for name, value in auth.cookies]
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    content = None
    encoded = _encode_given_body(body, _at("body", given))
    if encoded is not None:
        headers["Content-Type"], content = encoded
    # Last: an argument must not replace the credential.
    headers.update(auth.headers)
    url = _url(endpoint, _at("path", given), query)
    return HttpRequest(method=endpoint.method.upper(), url=url, headers=headers, content=content)


def _match_arguments(parameters: Sequence[ApiParameter], args: Mapping[str, Any]) -> Given:
    given: list[tuple[ApiParameter, Any]] = []
    missing: list[str] = []
    for item in parameters:
        value = args.get(item.name)
        if item.required and item.name not in args:
            value = as_object(item.schema).get("default")
        is_null = item.location == "body" and item.name in args
        if value is not None or is_null:
            if item.is_json and not isinstance(value, str):
                value = text_or_json(value)
            given.append((item, value))
        elif item.required:
            missing.append(item.name)
    if missing:
        raise BadArgumentsError(missing_arguments(missing).message)
    return given


def _at(location: str, given: Given) -> Given:
    return [(item, value) for item, value in given if item.location == location]


def _encode_given_body(body: ApiBody | None, given: Given) -> tuple[str, bytes] | None:
    if body is None or not (given or (body.required and body.properties is not None)):
        return None
    if body.properties is None:
        return encode_body(body, given[0][1])
    return encode_body(body, {item.original_name: value for item, value in given})


def _url(endpoint: OperationEndpoint, given: Given, query: Sequence[tuple[str, str]]) -> str:
    texts = {item.original_name: path_text(item, value) for item, value in given}
    # Some documents use fragments to distinguish operations of one path. A fragment is not sent to a server.
    template, _, own_query = endpoint.path.partition("#")[0].partition("?")
    segments = [_segment(segment, texts) for segment in template.split("/")]
    base, _, base_query = endpoint.base_url.partition("#")[0].partition("?")
    pairs = [base_query, own_query]
    pairs += [f"{name}={value}" for name, value in query]
    path = "/".join(segments).lstrip("/")
    url = f"{base.rstrip('/')}/{path}"
    query_text = "&".join(filter(None, pairs))
    if not query_text:
        return url
    return f"{url}?{query_text}"


def _segment(template: str, texts: Mapping[str, str]) -> str:
    filled = PLACEHOLDER.sub(lambda found: texts[found[1]], template)
    # Slashes are encoded before, so only these segments could make the path lead elsewhere.
    if filled != template and filled in ("", ".", ".."):
        raise BadArgumentsError(
            f"Nothing was done: an argument in the path is {filled!r}, which would address something else."
        )
    return filled


def encode_body(body: ApiBody, value: Any) -> tuple[str, bytes] | None:
    """Return the content type and the bytes of a body; None for a multipart form without a part.

    For a form, `value` has to be an object.
    """
    kind = body.media_type.split(";")[0].strip()
    if is_json(kind):
        content_type = body.media_type
        if "*" in kind:
            content_type = "application/json"
        return content_type, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    if kind == "application/x-www-form-urlencoded":
        return kind, _form(body, as_object(value)).encode()
    if kind == "multipart/form-data":
        return _multipart(body, as_object(value))
    return body.media_type, text_or_json(value).encode("utf-8", "replace")


def _form(body: ApiBody, fields: dict[str, Any]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        encoding = as_object(body.encoding.get(name))
        style = as_text(encoding.get("style")) or "form"
        explode = encoding.get("explode", style == "form") is True
        # An object in a form has no style by default; JSON keeps its fields together.
        if isinstance(value, dict) and "style" not in encoding:
            value = json_text(value)
        field = ApiParameter("", str(name), "body", style=style, explode=explode)
        pairs += query_pairs(field, value)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _multipart(body: ApiBody, fields: dict[str, Any]) -> tuple[str, bytes] | None:
    parts: list[_Part] = []
    for name, value in fields.items():
        schema = as_object(as_object(body.properties).get(name))
        items = [value]
        if isinstance(value, list):
            items = value
            schema = as_object(schema.get("items"))
        declared = as_text(as_object(body.encoding.get(name)).get("contentType")) or None
        parts += [(str(name), _part(str(name), item, schema, declared)) for item in items]
    if not parts:
        return None
    # Only to encode the parts; this request is never sent.
    request = httpx2.Request("POST", "http://multipart", files=parts)
    return request.headers["Content-Type"], request.read()


def _part(
    name: str, value: Any, schema: dict[str, Any], content_type: str | None
) -> tuple[str | None, bytes, str | None]:
    filename: str | None = None
    if schema.get("format") in ("binary", "base64") or "contentMediaType" in schema:
        filename = name
    if not content_type and isinstance(value, dict | list):
        content_type = "application/json"
    return filename, text_or_json(value).encode("utf-8", "replace"), content_type


def text_or_json(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    if isinstance(value, str):
        return value
    return json_text(value)


def percent_encoded(text: str, safe: str = "") -> str:
    # A model may write half of a surrogate pair, which UTF-8 cannot encode.
    return quote(text, safe=safe, errors="replace")


def path_text(parameter: ApiParameter, value: Any) -> str:
    """Return the text for a placeholder of a path: styles simple, label and matrix."""
    name = percent_encoded(parameter.original_name)
    if parameter.style == "label" and parameter.explode:
        return "." + _join_value(value, True, percent_encoded, ".")
    if parameter.style == "label":
        return "." + _join_value(value, False, percent_encoded)
    if parameter.style != "matrix":
        return _join_value(value, parameter.explode, percent_encoded)
    if parameter.explode and isinstance(value, list):
        return "".join(f";{name}={percent_encoded(text_or_json(item))}" for item in value)
    if parameter.explode and isinstance(value, dict):
        return ";" + _join_value(value, True, percent_encoded, ";")
    return f";{name}={_join_value(value, False, percent_encoded)}"


def query_pairs(parameter: ApiParameter, value: Any) -> list[tuple[str, str]]:
    """Return names and values of a query or of a form: styles form, spaceDelimited, pipeDelimited, deepObject."""
    name = percent_encoded(parameter.original_name)
    kept = ""
    if parameter.allow_reserved:
        kept = RESERVED.replace("&", "")

    def encode(text: str) -> str:
        return percent_encoded(text, kept)

    is_deep = parameter.style == "deepObject"
    if isinstance(value, dict) and (is_deep or parameter.explode):
        pairs = []
        for key, item in value.items():
            member = percent_encoded(str(key))
            if is_deep:
                member = f"{name}%5B{member}%5D"
            pairs.append((member, encode(text_or_json(item))))
        return pairs
    if isinstance(value, list) and parameter.explode:
        return [(name, encode(text_or_json(item))) for item in value]
    separator = _SEPARATORS.get(parameter.style, ",")
    return [(name, _join_value(value, False, encode, separator))]


def header_text(parameter: ApiParameter, value: Any) -> str:
    """Return the value of a header: style simple, not percent-encoded."""
    return _join_value(value, parameter.explode, str)


def _join_value(value: Any, explode: bool, encode: Encode, separator: str = ",") -> str:
    if isinstance(value, list):
        return separator.join(encode(text_or_json(item)) for item in value)
    if not isinstance(value, dict):
        return encode(text_or_json(value))
    between = separator
    if explode:
        between = "="
    members: list[str] = []
    for key, item in value.items():
        members.append(encode(str(key)) + between + encode(text_or_json(item)))
    return separator.join(members)
