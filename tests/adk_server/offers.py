"""Operations and fields that a server offers, by its OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

BEGINNING = re.compile("^/adk(?=/)")
PLACEHOLDER = re.compile(r"\{[^}]*\}")


def offers_of(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return the parameters of the query and the fields of the body by method and address, each in order."""
    return {
        f"{method.upper()} {PLACEHOLDER.sub('{}', BEGINNING.sub('', path))}": sorted(
            _fields(operation, document)
        )
        for path, operations in sorted(document["paths"].items())
        for method, operation in sorted(operations.items())
    }


def _fields(operation: dict[str, Any], document: dict[str, Any]) -> set[str]:
    names = {field["name"] for field in operation.get("parameters", []) if field["in"] == "query"}
    content = operation.get("requestBody", {}).get("content", {})
    for media in content.values():
        names |= _properties(media["schema"], document)
    return names


def _properties(schema: dict[str, Any], document: dict[str, Any]) -> set[str]:
    if reference := schema.get("$ref"):
        return _properties(document["components"]["schemas"][reference.rpartition("/")[2]], document)
    names = set(schema.get("properties", {}))
    for one in schema.get("anyOf", []):
        names |= _properties(one, document)
    return names
