"""Python types as `types.Schema` (spec T1).

pydantic says how a type looks in JSON schema. What is left is the smaller vocabulary that Gemini accepts in
declarations: no references, a type on every node, text in enums only, nothing beside a union, few formats.
"""

from __future__ import annotations

from typing import Any

from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from runtime import types
from runtime.errors import ConfigurationError

Node = dict[str, Any]

_COPIED = {
    "description": "description",
    "default": "default",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
}
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_SCALARS: list[Node] = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]
_ANYTHING: list[Node] = [*_SCALARS, {"type": "array", "items": {"anyOf": _SCALARS}}]


class _JsonSchema(GenerateJsonSchema):
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        return {"type": "string", "format": "decimal"}


def adapter_of(annotation: Any, owner: str) -> TypeAdapter[Any]:
    """The pydantic adapter that converts values to the type.

    Raises:
        ConfigurationError: pydantic does not know the type; `owner` says in the message whose type it is.
    """
    try:
        return TypeAdapter(annotation)
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise _undescribable(owner, error) from error


def schema_of(adapter: TypeAdapter[Any], owner: str, **about: Any) -> types.Schema:
    """The schema of the adapter's type; `about` are JSON schema keys that win, such as `description`.

    Raises:
        ConfigurationError: the type has no JSON form, or contains itself.
    """
    try:
        node = adapter.json_schema(schema_generator=_JsonSchema)
    except PydanticUserError as error:
        raise _undescribable(owner, error) from error
    return _Reader(node.pop("$defs", {}), owner).read({**node, **about}, ())


def _undescribable(owner: str, error: PydanticUserError | PydanticUndefinedAnnotation) -> ConfigurationError:
    return ConfigurationError(
        f"{owner} has a type that cannot be described to a model: {error.message} Use plain types, lists, "
        "dicts, enums, dataclasses or pydantic models."
    )


class _Reader:
    """Reads the JSON schema of one type; `path` is the chain of definitions that a node is in."""

    def __init__(self, definitions: dict[str, Node], owner: str) -> None:
        self._definitions = definitions
        self._owner = owner

    def read(self, node: Node, path: tuple[str, ...]) -> types.Schema:
        if "$ref" in node:
            return self._reference(node, path)
        if branches := node.get("anyOf") or node.get("oneOf"):
            return self._union(node, branches, path)
        if "const" in node:
            return self._choice(node, [node["const"]], path)
        if "enum" in node:
            return self._choice(node, node["enum"], path)
        if "type" not in node:
            return self._union(node, _ANYTHING, path)
        return self._plain(node, path)

    def _reference(self, node: Node, path: tuple[str, ...]) -> types.Schema:
        name = node["$ref"].removeprefix("#/$defs/")
        if name in path:
            raise ConfigurationError(
                f"{self._owner} has a type that contains itself ({' > '.join([*path, name])}), which cannot "
                "be described to a model. Take a flat list, or JSON as text."
            )
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return self.read({**self._definitions[name], **beside}, (*path, name))

    def _union(self, node: Node, branches: list[Node], path: tuple[str, ...]) -> types.Schema:
        """Gemini refuses fields beside `any_of`, so what is said about the union goes to its first branch."""
        about: Node = {key: node[key] for key in ("description", "default") if key in node}
        real = [branch for branch in branches if branch.get("type") != "null"]
        nullable = len(real) < len(branches) or None
        if len(real) == 1:
            schema = self.read({**real[0], **about}, path)
            schema.nullable = nullable or schema.nullable
            return schema
        about.pop("default", None)
        first = self.read({**real[0], **about}, path)
        schemas = [first, *(self.read(branch, path) for branch in real[1:])]
        flat = [member for schema in schemas for member in schema.any_of or [schema]]
        for member in flat:
            member.nullable = nullable or member.nullable
        return types.Schema(any_of=flat)

    def _choice(self, node: Node, values: list[Any], path: tuple[str, ...]) -> types.Schema:
        """Gemini takes text only as enum; other values are told in the description."""
        real = [value for value in values if value is not None]
        kinds = list(dict.fromkeys(self._type_name(value) for value in real))
        if len(kinds) > 1:
            groups = [{"enum": [v for v in real if self._type_name(v) == kind]} for kind in kinds]
            nothing = [{"type": "null"}] if len(real) < len(values) else []
            beside = {key: value for key, value in node.items() if key != "enum"}
            return self._union(beside, [*groups, *nothing], path)
        texts = kinds == ["string"]
        hint = "" if texts else f"one of: {', '.join(str(value) for value in real)}"
        schema = self._plain({**_with_hint(node, hint), "type": kinds[0]}, path)
        schema.enum = real if texts else None
        schema.nullable = True if len(real) < len(values) else None
        return schema

    def _plain(self, node: Node, path: tuple[str, ...]) -> types.Schema:
        if node.get("format", "date-time") != "date-time":
            node = _with_hint(node, f"format: {node['format']}")
        kind = types.Type(node["type"].upper())
        fields = {ours: node[theirs] for theirs, ours in _COPIED.items() if theirs in node}
        if kind is types.Type.OBJECT and node.get("properties"):
            fields["properties"] = {
                name: self.read(value, path) for name, value in node["properties"].items()
            }
            fields["required"] = node.get("required")
        if kind is types.Type.ARRAY:
            fields["items"] = self.read(_items(node), path)
        if node.get("format") == "date-time":
            fields["format"] = "date-time"
        return types.Schema(type=kind, **fields)

    def _type_name(self, value: object) -> str:
        if type(value) not in _TYPE_NAMES:
            raise ConfigurationError(
                f"{self._owner} allows the value {value!r}, which cannot be described to a model. "
                "Choose among texts, numbers or booleans."
            )
        return _TYPE_NAMES[type(value)]


def _items(node: Node) -> Node:
    """What an array holds; a tuple's positions become a union."""
    positions = node.get("prefixItems")
    if not positions:
        return dict(node.get("items") or {})
    distinct = [item for index, item in enumerate(positions) if item not in positions[:index]]
    return {"anyOf": distinct}


def _with_hint(node: Node, hint: str) -> Node:
    """The node with something in its description that the schema has no field for."""
    description = node.get("description")
    if not hint:
        return node
    return {**node, "description": f"{description} ({hint})" if description else hint}
