"""Additions to the OpenAPI 3.1 documents that django-ninja makes.

Problem details and the header of writes come from middleware and decorators, not from the operations. Examples of
bodies are made from the schemas: the value of a field is its first example, else its default, else a value of its type.
"""

from collections.abc import Iterator
from typing import Any

from sessions_app.api.idempotency import HEADER, WRITES
from sessions_app.models.idempotent_request import MAX_KEY_LENGTH

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "Problem details (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["about:blank"]},
        "title": {"type": "string", "examples": ["Unprocessable Entity"]},
        "status": {"type": "integer", "examples": [422]},
        "code": {"type": "string", "description": "The reason, for programs.", "examples": ["invalid"]},
        "detail": {"type": "string", "description": "A sentence: the reason, and what to do."},
        "errors": {
            "type": "array",
            "description": "Fields that cannot be used.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {
                    "field": {"type": "string", "examples": ["query.limit"]},
                    "message": {"type": "string"},
                },
            },
        },
        "reference": {"type": "string", "description": "Names the record of a failure in the site's log."},
    },
}
_REFUSAL = {
    "schema": {"$ref": "#/components/schemas/Problem"},
    "example": {
        "type": "about:blank",
        "title": "Unprocessable Entity",
        "status": 422,
        "code": "invalid",
        "detail": "query.limit: Input should be less than or equal to 100.",
        "errors": [{"field": "query.limit", "message": "Input should be less than or equal to 100"}],
    },
}
_REFUSED = {
    "description": "The request is refused or has failed.",
    "content": {"application/problem+json": _REFUSAL},
}
_KEY = {
    "in": "header",
    "name": HEADER,
    "description": "Names the request: sent again under the same key, it is answered again and not repeated.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[\\x20-\\x7e]+$"},
    "required": False,
}

TEXTS = {
    "date": "2026-05-04",
    "date-time": "2026-05-04T09:12:07Z",
    "uri": "https://shop.example/agents",
    "uuid": "0b9c5f3e-5d0c-4b7e-9a51-3f1f6f1f2a10",
}
"""Examples of texts by format."""


def add_problems(document: dict[str, Any]) -> None:
    """Add the problem details to each operation of the document."""
    document["components"]["schemas"]["Problem"] = PROBLEM
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = _REFUSED


def add_idempotency_keys(document: dict[str, Any]) -> None:
    """Add the header `Idempotency-Key` to each operation of the document that writes."""
    for operations in document["paths"].values():
        for method, operation in operations.items():
            parameters = [*operation.get("parameters", [])]
            names = {parameter["name"].lower() for parameter in parameters}
            if method.upper() in WRITES and HEADER.lower() not in names:
                parameters.append(_KEY)
            operation["parameters"] = parameters


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
    example = {}
    for name, field in schema.get("properties", {}).items():
        if name in required or "examples" in field:
            example[name] = _example_of(field, schemas, within)
    return example
