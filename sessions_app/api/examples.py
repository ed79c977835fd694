"""Examples of request and response bodies in an OpenAPI document, made from the schemas.

The value of a field is its first example, else its default, else a value of its type and format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TEXTS = {
    "date": "2026-05-04",
    "date-time": "2026-05-04T09:12:07Z",
    "uri": "https://shop.example/agents",
    "uuid": "0b9c5f3e-5d0c-4b7e-9a51-3f1f6f1f2a10",
}
"""Examples of texts by format."""


def add_examples(document: dict[str, Any]) -> None:
    """Add an example to each request and response body that has none."""
    schemas = document["components"]["schemas"]
    for operations in document["paths"].values():
        for operation in operations.values():
            for media in bodies(operation):
                if "example" not in media["schema"]:
                    media.setdefault("example", _example_of(media["schema"], schemas))


def bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the media types of an operation's request and responses."""
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for response in operation["responses"].values():
        yield from response.get("content", {}).values()


def _example_of(schema: dict[str, Any], schemas: dict[str, Any], within: tuple[str, ...] = ()) -> Any:
    """Return an example of a schema.

    Args:
        schemas: schemas of the document by name.
        within: names of the enclosing schemas.
    """
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        return _example_of(schemas[name], schemas, (*within, name))
    for values in ("examples", "enum", "anyOf", "oneOf", "allOf"):
        if values in schema:
            first = schema[values][0]
            return first if values in ("examples", "enum") else _example_of(first, schemas, within)
    if schema.get("default") is not None:
        return schema["default"]
    match schema.get("type"):
        case "object":
            return _example_of_object(schema, schemas, within)
        case "array":
            items = schema.get("items", {})
            # A tree has branches of its own schema: its example has none, or it would have no end.
            is_recursive = items.get("$ref", "").rpartition("/")[2] in within
            return [] if is_recursive else [_example_of(items, schemas, within)]
        case "string":
            return TEXTS.get(schema.get("format", ""), "text")
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
    return {}


def _example_of_object(
    schema: dict[str, Any], schemas: dict[str, Any], within: tuple[str, ...]
) -> dict[str, Any]:
    """Return an object with its required fields, and the fields that have an example."""
    required = schema.get("required", [])
    return {
        name: _example_of(field, schemas, within)
        for name, field in schema.get("properties", {}).items()
        if name in required or "examples" in field
    }
