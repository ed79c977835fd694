"""Small OpenAPI documents."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.tools.openapi_tool import OpenAPIToolset, RestApiTool

Json = dict[str, Any]


def spec_of(url: str, path: str = "/things", method: str = "get", /, **operation: Any) -> Json:
    """Return a document with one operation, `doIt`; `components` go to the document."""
    components = operation.pop("components", {})
    described = {"operationId": "doIt", "responses": {"200": {"description": "ok"}}, **operation}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": url}],
        "paths": {path: {method: described}},
        "components": components,
    }


def tool_of(spec: Json, name: str = "do_it", /, **options: Any) -> RestApiTool:
    """Return a tool of a document; requests to loopback are allowed unless the options say otherwise."""
    toolset = OpenAPIToolset(spec_dict=spec, **{"allow_private_network_access": True, **options})
    tool = toolset.get_tool(name)
    assert tool is not None
    return tool


def declared(tool: RestApiTool) -> types.FunctionDeclaration:
    return tool._get_declaration()


def schema_of(tool: RestApiTool) -> Json:
    """Return the JSON schema of the tool's arguments."""
    schema = declared(tool).parameters_json_schema
    assert isinstance(schema, dict)
    return schema


def parameter(name: str, location: str, **fields: Any) -> Json:
    return {"name": name, "in": location, "schema": {}, **fields}


def body(media_type: str, schema: Json, **fields: Any) -> Json:
    return {"content": {media_type: {"schema": schema}}, **fields}
