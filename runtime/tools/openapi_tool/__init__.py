"""Tools that call the operations of a web service described by OpenAPI (contract T11)."""

from runtime.tools.openapi_tool.openapi_spec_parser import OpenAPIToolset, RestApiTool

__all__ = ["OpenAPIToolset", "RestApiTool"]
