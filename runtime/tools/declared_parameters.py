"""Parameters of a function declaration, given as `parameters` or as `parameters_json_schema`."""

from collections.abc import Iterator, Mapping

from runtime import types
from runtime.tools.openapi_tool.openapi_spec_parser.model_schema import declare_arguments
from runtime.tools.openapi_tool.openapi_spec_parser.references import Json, References, as_list, as_object


def parameter_names(declaration: types.FunctionDeclaration) -> tuple[str, ...]:
    """Return the names of the parameters in the order of the declaration."""
    if declaration.parameters is not None:
        return tuple(declaration.parameters.properties or ())
    schema = declaration.parameters_json_schema
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return tuple(properties) if isinstance(properties, Mapping) else ()


def parameter_schemas(
    declaration: types.FunctionDeclaration,
) -> Iterator[tuple[str, types.Schema, bool]]:
    """Yield the name, the schema and the required flag of each parameter.

    Schemas converted from a JSON schema have types, choices and descriptions only. A parameter with an unreadable
    schema has an empty schema.
    """
    if declaration.parameters is not None:
        required = declaration.parameters.required or []
        schemas = declaration.parameters.properties or {}
    else:
        # An MCP server may send any JSON here.
        given = as_object(declaration.parameters_json_schema)
        required = as_list(given.get("required"))
        readable = declare_arguments(as_object(given.get("properties")), [], References(given))
        schemas = {name: _schema_of(node) for name, node in readable["properties"].items()}
    for name, schema in schemas.items():
        yield name, schema, name in required


def _schema_of(node: Json) -> types.Schema:
    """Return the schema of a node made by `declare_arguments`."""
    given = node.get("type")
    named = given if isinstance(given, list) else [given]
    kinds: list[str] = [kind for kind in named if kind not in (None, "null")]
    branches = [branch for branch in node.get("anyOf", []) if branch.get("type") != "null"]
    schema = types.Schema(description=node.get("description"))
    if len(kinds) == 1:
        schema.type = types.Type(kinds[0].upper())
    else:
        branches += [{**node, "type": kind, "anyOf": []} for kind in kinds]
    if branches:
        schema.any_of = list(map(_schema_of, branches))
    if node.get("enum"):
        schema.enum = list(map(str, node["enum"]))
    if node.get("items"):
        schema.items = _schema_of(node["items"])
    return schema
