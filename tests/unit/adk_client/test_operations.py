"""Contract: each operation of the client is one of the site's OpenAPI document, with a body that the site takes."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from adk_client.calls import BASE, Call
from adk_client.operation import Operation, StreamOperation
from adk_client.operations import Operations
from adk_client.stream import Stream

from sessions_app.api.site_api import site_api

OPERATIONS = {
    name: value
    for name, value in inspect.getmembers_static(Operations)
    if isinstance(value, Operation | StreamOperation)
}
DOCUMENT: dict[str, Any] = site_api.get_openapi_schema()


def described(name: str) -> Call[Any] | Stream:
    """Return the call or the stream of the operation, with a text in the place of each argument that it needs."""
    describe = OPERATIONS[name].describe
    needed = [
        parameter
        for parameter in list(inspect.signature(describe).parameters.values())[1:]
        if parameter.default is parameter.empty
    ]
    sent: Call[Any] | Stream = describe(None, *(parameter.name for parameter in needed))
    return sent


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_in_the_document(name: str) -> None:
    sent = described(name)
    call = sent.call() if isinstance(sent, Stream) else sent
    paths = [
        (re.sub(r"\{\w+\}", "[^/]+", path), items)
        for path, items in DOCUMENT["paths"].items()
        if call.method.lower() in items
    ]
    matching = [items[call.method.lower()] for path, items in paths if re.fullmatch(path, BASE + call.path)]
    assert matching
    known = {parameter["name"] for operation in matching for parameter in operation.get("parameters", [])}
    assert call.query.keys() <= known
    if call.json is not None:
        (operation,) = matching
        assert call.json.keys() <= fields_of(
            operation["requestBody"]["content"]["application/json"]["schema"]
        )


def fields_of(schema: dict[str, Any]) -> set[str]:
    """The fields of a JSON object by its schema."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return set(schema["properties"])
