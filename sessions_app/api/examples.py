"""Examples of the bodies of requests and responses, in the document of an API (OpenAPI)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Examples = Mapping[str, Any]
"""Examples by the name of a schema, or by the id of an operation whose response has no schema of its own."""


def add_examples(document: dict[str, Any], examples: Examples) -> None:
    """Add the examples to the bodies of requests and responses in the document."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for media in bodies(operation):
                example = _example_of(media["schema"], examples, operation["operationId"])
                if example is not None and "example" not in media["schema"]:
                    media.setdefault("example", example)


def bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the media types of an operation: those of its request and of its responses."""
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for response in operation["responses"].values():
        yield from response.get("content", {}).values()


def _example_of(schema: dict[str, Any], examples: Examples, name: str) -> Any:
    """Return the example for the name of a schema; `name` stands for a schema without a name."""
    if reference := schema.get("$ref"):
        name = reference.rsplit("/", 1)[-1]
        if name.startswith("Page_"):
            return {"items": [examples[name.removeprefix("Page_").removesuffix("_")]], "next": None}
    elif "$ref" in schema.get("items", {}):
        return [_example_of(schema["items"], examples, name)]
    elif alternatives := [one for one in schema.get("anyOf", []) if "$ref" in one]:
        return examples.get(name) or _example_of(alternatives[0], examples, name)
    return examples.get(name)
