"""Schemas of an OpenAPI document as JSON schema for a model.

The result has no references, no `allOf`, and a limited size: a schema with too many nodes is described less deeply. A
declaration is part of every request, and resolved references of a large document may grow without bound.
"""

import logging
from collections.abc import Mapping
from typing import Any

from runtime.tools.openapi_tool.openapi_spec_parser.references import (
    Json,
    References,
    UnresolvedReferenceError,
    as_list,
    as_object,
    as_text,
)

MAX_DEPTH = 8
MAX_NODES = 500
MAX_PARTS = 500
"""Schemas of `allOf`, also of those in each other, that are merged into one."""

_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_TEXTS = ("description", "format", "pattern")
_NUMBERS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")

logger = logging.getLogger(__name__)


class _TooManyNodes(Exception):
    """The schema is too large at this depth."""


def declare_arguments(properties: Mapping[str, Any], required: list[str], references: References) -> Json:
    """Return the JSON schema of a tool's arguments, as deep as the limit of nodes allows."""
    for depth in range(MAX_DEPTH, -1, -1):
        # At depth 0 there is one node for each argument, and every argument has to be declared.
        converter = _Converter(references, depth, MAX_NODES if depth else None)
        try:
            converted = {name: converter.convert(node) for name, node in properties.items()}
        except _TooManyNodes:
            continue
        break
    schema: Json = {"type": "object", "properties": converted}
    if required:
        schema["required"] = required
    return schema


def flattened(node: Json, references: References) -> Json:
    """Return a resolved schema, merged with the schemas of its `allOf`.

    Raises:
        UnresolvedReferenceError: a schema of `allOf` is a reference to nothing.
    """
    if "allOf" not in node:
        return node
    merged: Json = {}
    properties: Json = {}
    required: list[Any] = []
    # From the last to the first: a schema overrides those of its `allOf`, and each of these those that follow it.
    for part in reversed(_parts(node, references)):
        merged |= part
        properties |= as_object(part.get("properties"))
        required = [*as_list(part.get("required")), *required]
    del merged["allOf"]
    return {**merged, "properties": properties, "required": required}


def _parts(node: Json, references: References) -> list[Json]:
    """Return a schema and the schemas of its `allOf`, each in front of those of its own `allOf`."""
    parts: list[Json] = []
    seen: set[str] = set()
    waiting: list[object] = [node]
    while waiting and len(parts) < MAX_PARTS:
        item = as_object(waiting.pop())
        reference = as_text(item.get("$ref"))
        # What has been merged adds nothing. Merged each time, schemas that name each other take exponential time.
        if reference in seen:
            item = {key: value for key, value in item.items() if key != "$ref"}
        seen.add(reference)
        part = references.resolve(item)
        if part:
            parts.append(part)
        waiting += reversed(as_list(part.get("allOf")))
    return parts


class _Converter:
    """Converts schemas down to a depth, and counts their nodes.

    In all methods, `path` holds the references on the way to the node.
    """

    def __init__(self, references: References, depth: int, nodes: int | None) -> None:
        self._references = references
        self._depth = depth
        self._nodes_left = nodes

    def convert(self, node: object, path: tuple[str, ...] = (), depth: int = 0) -> Json:
        self._count()
        reference = as_text(as_object(node).get("$ref"))
        if reference in path:
            return {"type": "object", "description": f"Another {reference.rpartition('/')[2]}."}
        if reference:
            path = (*path, reference)
        try:
            schema = flattened(self._references.resolve(node), self._references)
        except UnresolvedReferenceError as error:
            logger.warning("A schema is offered to the model without its type: %s", error)
            return {}
        return self._plain(schema, path, depth)

    def _count(self) -> None:
        if self._nodes_left is not None:
            self._nodes_left -= 1
            if self._nodes_left < 0:
                raise _TooManyNodes

    def _plain(self, node: Json, path: tuple[str, ...], depth: int) -> Json:
        kinds = _types_of(node)
        converted: Json = {}
        if len(kinds) == 1:
            converted["type"] = kinds[0]
        elif kinds:
            converted["type"] = kinds
        for key, value in node.items():
            if (key in _TEXTS and isinstance(value, str)) or (key in _NUMBERS and _is_number(value)):
                converted[key] = value
        values = _choices(node)
        if values:
            converted["enum"] = values
        if isinstance(node.get("default"), str | int | float):
            converted["default"] = node["default"]
        if depth < self._depth:
            return converted | self._convert_nested(node, kinds, path, depth + 1)
        if "array" in kinds:
            converted["items"] = {}
        return converted

    def _convert_nested(self, node: Json, kinds: list[str], path: tuple[str, ...], depth: int) -> Json:
        nested: Json = {}
        branches = as_list(node.get("anyOf")) + as_list(node.get("oneOf"))
        if branches:
            nested["anyOf"] = [self.convert(branch, path, depth) for branch in branches]
        if "array" in kinds:
            nested["items"] = self.convert(node.get("items"), path, depth)
        properties = as_object(node.get("properties"))
        if properties:
            nested |= self._properties(properties, as_list(node.get("required")), path, depth)
        elif as_object(node.get("additionalProperties")):
            nested["additionalProperties"] = self.convert(node["additionalProperties"], path, depth)
        return nested

    def _properties(self, properties: Json, required: list[Any], path: tuple[str, ...], depth: int) -> Json:
        converted: Json = {}
        for name, node in properties.items():
            # The service alone sets such a property.
            if as_object(node).get("readOnly") is not True:
                converted[str(name)] = self.convert(node, path, depth)
        needed = [name for name in dict.fromkeys(map(str, required)) if name in converted]
        if needed:
            return {"properties": converted, "required": needed}
        return {"properties": converted}


def _types_of(node: Json) -> list[str]:
    """Return the types that a schema allows; infer the type of a schema without `type` from its other fields."""
    given = node.get("type")
    kinds: list[str] = []
    for name in given if isinstance(given, list) else [given]:
        kind = str(name).lower()
        if kind in _TYPES and kind not in kinds:
            kinds.append(kind)
    if not kinds and as_object(node.get("properties")):
        kinds = ["object"]
    if not kinds and "items" in node:
        kinds = ["array"]
    if kinds and node.get("nullable") is True and "null" not in kinds:
        kinds.append("null")
    return kinds


def _choices(node: Json) -> list[Any]:
    values = as_list(node.get("enum"))
    if "const" in node:
        values = [node["const"]]
    choices = []
    for value in values:
        if isinstance(value, str | int | float):
            choices.append(value)
        elif value is not None:
            choices.append(str(value))
    return choices


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
