"""Parameters of a function declaration, whichever of its two fields holds their schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime import types


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
    """Yield name and schema of each parameter, and True for a required one."""
    schema = declaration.parameters
    if schema is None and isinstance(declaration.parameters_json_schema, dict):
        json_schema = types.JSONSchema.model_validate(declaration.parameters_json_schema)
        schema = types.Schema.from_json_schema(json_schema=json_schema)
    required = (schema.required or []) if schema else []
    for name, parameter in ((schema.properties or {}) if schema else {}).items():
        yield name, parameter, name in required
