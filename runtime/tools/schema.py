"""Convert Python types to `types.Schema` (contract T1).

    Python type -> pydantic: JSON schema -> _SchemaConverter: types.Schema

`types.Schema` is the subset of JSON schema that Gemini accepts in declarations: no references, a type on every node,
only strings in enums, no fields next to a union, few formats. Facts outside of the subset move into descriptions, where
a model can still read them. A type that contains itself is described to its first level.
"""

import logging
from typing import Any, Literal

from pydantic import ConfigDict, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from runtime import types
from runtime.errors import ConfigurationError, with_article

logger = logging.getLogger(__name__)

Node = dict[str, Any]

_COPIED_KEYS = {
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
    """Return the pydantic adapter for converting values to the type.

    Raises:
        ConfigurationError: pydantic does not support the type. The message names the `owner` of the type.
    """
    try:
        return TypeAdapter(annotation)
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise _unsupported_type(owner, error) from error


def argument_adapter_of(annotation: Any, owner: str) -> TypeAdapter[Any]:
    """Return the pydantic adapter for a model's arguments: like `adapter_of`, but accepts a number for a text,
    and base64 for bytes, as a tool's result is written.

    Raises:
        ConfigurationError: pydantic does not support the type. The message names the `owner` of the type.
    """
    # Models often give a number where a text is declared, such as an order number.
    try:
        return TypeAdapter(annotation, config=ConfigDict(coerce_numbers_to_str=True, val_json_bytes="base64"))
    except (PydanticUserError, PydanticUndefinedAnnotation):
        # pydantic accepts no settings for a pydantic model or a dataclass, which define their own.
        return adapter_of(annotation, owner)


def schema_of(adapter: TypeAdapter[Any], owner: str, **overrides: Any) -> types.Schema:
    """Return the schema of the adapter's type; `overrides` are JSON schema keys such as `description`.

    Raises:
        ConfigurationError: the type has no JSON form.
    """
    try:
        node = adapter.json_schema(schema_generator=_JsonSchema)
    except PydanticUserError as error:
        raise _unsupported_type(owner, error) from error
    return schema_of_json({**node, **overrides}, owner)


def schema_of_json(json_schema: Node, owner: str) -> types.Schema:
    """Return the subset of a JSON schema that models accept.

    Raises:
        ConfigurationError: a reference leads to no definition of the schema, an enumeration holds an object or a
            list, or `allOf` combines several schemas. The message names the `owner` of the schema.
    """
    definitions = json_schema.get("$defs", {})
    root = {key: value for key, value in json_schema.items() if key != "$defs"}
    return _SchemaConverter(definitions, owner).convert(root, ())


def _unsupported_type(
    owner: str, error: PydanticUserError | PydanticUndefinedAnnotation
) -> ConfigurationError:
    return ConfigurationError(
        f"{owner} has a type that cannot be described to a model: {error.message} Use plain types, lists, "
        "dicts, enums, dataclasses or pydantic models."
    )


class _SchemaConverter:
    """Converts the JSON schema of a type.

    In all methods, `path` is the chain of definitions around the node; a repeated name is a type that contains itself.
    """

    def __init__(self, definitions: dict[str, Node], owner: str) -> None:
        self._definitions = definitions
        self._owner = owner

    def convert(self, node: Node | Literal[True], path: tuple[str, ...]) -> types.Schema:
        if node is True:
            node = {}
        if "$ref" in node:
            return self._reference(node, path)
        if "allOf" in node:
            return self._combination(node, path)
        branches = node.get("anyOf") or node.get("oneOf")
        if branches:
            return self._union(node, branches, path)
        if "const" in node:
            return self._choice(node, [node["const"]], path)
        if "enum" in node:
            return self._choice(node, node["enum"], path)
        if "type" not in node:
            return self._union(node, _ANYTHING, path)
        if isinstance(node["type"], list):
            return self._union(node, [{**node, "type": kind} for kind in node["type"]], path)
        return self._plain(node, path)

    def _reference(self, node: Node, path: tuple[str, ...]) -> types.Schema:
        name = node["$ref"].removeprefix("#/$defs/")
        if name not in self._definitions:
            raise ConfigurationError(
                f"{self._owner} has a schema with the reference {node['$ref']!r}, which names nothing in its `$defs`."
            )
        definition = self._definitions[name]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if name in path:
            logger.warning(
                "%s has a type that contains itself (%s). The model is told no fields of the inner %s.",
                self._owner,
                " > ".join([*path, name]),
                name,
            )
            kind = {"type": "object"} if definition.get("type") == "object" else {}
            return self.convert(
                _with_hint({**beside, **kind}, f"{with_article(name)} like the one that holds it"), path
            )
        return self.convert({**definition, **beside}, (*path, name))

    def _combination(self, node: Node, path: tuple[str, ...]) -> types.Schema:
        """Convert a single-schema `allOf`."""
        # Some authors and generators write a reference with further fields in this form.
        schemas = node["allOf"]
        if len(schemas) != 1:
            raise ConfigurationError(
                f"{self._owner} has a schema that combines several schemas by allOf, which cannot be described to a "
                "model. Write them as one."
            )
        beside = {key: value for key, value in node.items() if key != "allOf"}
        return self.convert({**schemas[0], **beside}, path)

    def _union(self, node: Node, branches: list[Node], path: tuple[str, ...]) -> types.Schema:
        # Gemini refuses fields next to `any_of`, so the description moves to the first branch.
        about: Node = {key: node[key] for key in ("description", "default") if key in node}
        non_null = [branch for branch in branches if branch.get("type") != "null"]
        if not non_null:
            return self._plain({**about, "type": "null"}, path)
        nullable = len(non_null) < len(branches) or None
        if len(non_null) == 1:
            schema = self.convert({**non_null[0], **about}, path)
            schema.nullable = nullable or schema.nullable
            return schema
        about.pop("default", None)
        first = self.convert({**non_null[0], **about}, path)
        schemas = [first, *(self.convert(branch, path) for branch in non_null[1:])]
        # Nested unions are flattened: their `any_of` would be next to other fields.
        flat = [member for schema in schemas for member in schema.any_of or [schema]]
        for member in flat:
            member.nullable = nullable or member.nullable
        return types.Schema(any_of=flat)

    def _choice(self, node: Node, values: list[Any], path: tuple[str, ...]) -> types.Schema:
        # Gemini accepts only strings in `enum`; other values move to the description.
        non_null = [value for value in values if value is not None]
        if not non_null:
            return self._plain({**node, "type": "null"}, path)
        kinds = list(dict.fromkeys(self._type_name(value) for value in non_null))
        if len(kinds) > 1:
            branches: list[Node] = []
            for kind in kinds:
                branches.append({"enum": [value for value in non_null if self._type_name(value) == kind]})
            if len(non_null) < len(values):
                branches.append({"type": "null"})
            beside = {key: value for key, value in node.items() if key != "enum"}
            return self._union(beside, branches, path)
        if kinds == ["string"]:
            schema = self._plain({**node, "type": "string"}, path)
            schema.enum = non_null
        else:
            hint = f"one of: {', '.join(map(str, non_null))}"
            schema = self._plain({**_with_hint(node, hint), "type": kinds[0]}, path)
        if len(non_null) < len(values):
            schema.nullable = True
        return schema

    def _plain(self, node: Node, path: tuple[str, ...]) -> types.Schema:
        if node.get("format", "date-time") != "date-time":
            node = _with_hint(node, f"format: {node['format']}")
        kind = types.Type(node["type"].upper())
        fields = {field: node[key] for key, field in _COPIED_KEYS.items() if key in node}
        if kind is types.Type.OBJECT and node.get("properties"):
            members = node["properties"].items()
            fields["properties"] = {name: self.convert(member, path) for name, member in members}
            fields["required"] = node.get("required")
        if kind is types.Type.ARRAY:
            fields["items"] = self.convert(_items(node), path)
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


def _items(node: Node) -> Node | Literal[True]:
    positions = node.get("prefixItems")
    if not positions:
        return node.get("items") or {}
    distinct = [item for index, item in enumerate(positions) if item not in positions[:index]]
    return {"anyOf": distinct}


def _with_hint(node: Node, hint: str) -> Node:
    """Return the node with a hint in its description, for facts without a field in `types.Schema`."""
    description = node.get("description")
    if description:
        hint = f"{description} ({hint})"
    return {**node, "description": hint}
