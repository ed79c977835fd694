"""The HTTP request for a call: where each argument goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.auth.placement import Placement
from runtime.tools.arguments import missing_arguments
from runtime.tools.openapi_tool.http_exchange import HttpRequest
from runtime.tools.openapi_tool.openapi_spec_parser.bodies import encode_body
from runtime.tools.openapi_tool.openapi_spec_parser.operations import OperationEndpoint
from runtime.tools.openapi_tool.openapi_spec_parser.parameters import PLACEHOLDER, ApiBody, ApiParameter
from runtime.tools.openapi_tool.openapi_spec_parser.references import as_object
from runtime.tools.openapi_tool.openapi_spec_parser.styles import (
    header_text,
    path_text,
    percent_encoded,
    query_pairs,
    text_of,
)

Given = Sequence[tuple[ApiParameter, Any]]


class BadArgumentsError(ValueError):
    """The model's arguments make no request; the message tells the model why."""


def build_request(
    endpoint: OperationEndpoint,
    parameters: Sequence[ApiParameter],
    body: ApiBody | None,
    args: Mapping[str, Any],
    auth: Placement,
) -> HttpRequest:
    """Return the request for a model's arguments; unknown arguments are dropped.

    Raises:
        BadArgumentsError: a mandatory argument is missing, or a value would lead to another path.
    """
    given = _given(parameters, args)
    query = [pair for item, value in _at("query", given) for pair in query_pairs(item, value)]
    query += [(percent_encoded(name), percent_encoded(value)) for name, value in auth.query]
    cookies = [pair for item, value in _at("cookie", given) for pair in query_pairs(item, value)]
    cookies += [(percent_encoded(name), percent_encoded(value)) for name, value in auth.cookies]
    headers = {item.original_name: header_text(item, value) for item, value in _at("header", given)}
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    content = _encoded_body(body, _at("body", given))
    if content:
        headers["Content-Type"] = content[0]
    return HttpRequest(
        method=endpoint.method.upper(),
        url=_url(endpoint, _at("path", given), query),
        headers={**headers, **auth.headers},
        content=content[1] if content else None,
    )


def _given(parameters: Sequence[ApiParameter], args: Mapping[str, Any]) -> Given:
    given: list[tuple[ApiParameter, Any]] = []
    missing: list[str] = []
    for item in parameters:
        default = as_object(item.schema).get("default") if item.required else None
        value = args.get(item.name, default)
        if value is None and not (item.location == "body" and item.name in args):
            missing += [item.name] if item.required else []
            continue
        is_encoded = item.is_json and not isinstance(value, str)
        given.append((item, text_of(value) if is_encoded else value))
    if missing:
        raise BadArgumentsError(missing_arguments(missing).message)
    return given


def _at(location: str, given: Given) -> Given:
    return [(item, value) for item, value in given if item.location == location]


def _encoded_body(body: ApiBody | None, given: Given) -> tuple[str, bytes] | None:
    if body is None or not (given or (body.required and body.properties is not None)):
        return None
    if body.properties is None:
        return encode_body(body, given[0][1])
    return encode_body(body, {item.original_name: value for item, value in given})


def _url(endpoint: OperationEndpoint, given: Given, query: Sequence[tuple[str, str]]) -> str:
    texts = {item.original_name: path_text(item, value) for item, value in given}
    # Some documents tell operations of one path apart by a fragment, which no server sees.
    template, _, own_query = endpoint.path.partition("#")[0].partition("?")
    segments = [_segment(segment, texts) for segment in template.split("/")]
    base, _, base_query = endpoint.base_url.partition("#")[0].partition("?")
    pairs = [*filter(None, (base_query, own_query)), *(f"{name}={value}" for name, value in query)]
    path = "/".join(segments).lstrip("/")
    return f"{base.rstrip('/')}/{path}" + (f"?{'&'.join(pairs)}" if pairs else "")


def _segment(template: str, texts: Mapping[str, str]) -> str:
    """Fill in one segment of the path; an argument must not make the path lead elsewhere."""
    filled = PLACEHOLDER.sub(lambda found: texts[found[1]], template)
    if filled != template and filled in ("", ".", ".."):
        raise BadArgumentsError(
            f"Nothing was done: an argument in the path is {filled!r}, which would address something else."
        )
    return filled
