"""JSON schemas for providers other than Google.

Google's schemas are a dialect of OpenAPI: type names in capitals, `nullable`, and the order of properties.
"""

from typing import Any, cast

from pydantic import TypeAdapter

from runtime import types

Json = dict[str, Any]

_NOT_JSON_SCHEMA = {"nullable", "propertyOrdering", "example"}


def json_schema_of(schema: types.SchemaUnion) -> Json:
    """Return the JSON schema of a `types.Schema`, a pydantic model, a type such as `list[Model]`, or a dict."""
    if isinstance(schema, types.Schema):
        return _from_google(schema.model_dump(mode="json", by_alias=True, exclude_none=True))
    if isinstance(schema, dict):
        return _from_google(schema)
    adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", schema))
    return adapter.json_schema()


def closed(schema: Any) -> Any:
    """Return the schema with all objects closed to further properties, as strict output requires."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {name: closed(value) for name, value in schema.items()}
    # An object without declared properties is a free map; closing it would allow only `{}`.
    if schema.get("type") == "object" and "properties" in schema:
        converted.setdefault("additionalProperties", False)
    return converted


def output_schema(config: types.GenerateContentConfig) -> Json | None:
    """Return the JSON schema for the answer; None if no schema is set."""
    if config.response_json_schema is not None:
        return dict(config.response_json_schema)
    if config.response_schema is not None:
        return json_schema_of(config.response_schema)
    return None


def _from_google(schema: Json) -> Json:
    """Convert Google's type names and `nullable`."""
    converted = {name: value for name, value in schema.items() if name not in _NOT_JSON_SCHEMA}
    kind = schema.get("type")
    if isinstance(kind, str):
        converted["type"] = [kind.lower(), "null"] if schema.get("nullable") else kind.lower()
    if schema.get("enum") and schema.get("nullable"):
        converted["enum"] = [*schema["enum"], None]
    properties = schema.get("properties")
    if isinstance(properties, dict):
        converted["properties"] = {name: _from_google(value) for name, value in properties.items()}
    if isinstance(schema.get("items"), dict):
        converted["items"] = _from_google(schema["items"])
    if schema.get("anyOf"):
        converted["anyOf"] = [_from_google(branch) for branch in schema["anyOf"]]
        if schema.get("nullable") and "type" not in schema:
            converted["anyOf"].append({"type": "null"})
    return converted
