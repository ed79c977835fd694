"""From an OpenAPI 3.0 or 3.1 document to tools.

spec_text    text to a dict                     references   the targets of `$ref`
operations   the operations of a document       parameters   parameters and body of an operation
model_schema what a model is told               request      arguments to an HTTP request (styles, bodies)
rest_api_tool, openapi_toolset                  results      an HTTP answer to a tool's result
"""

from runtime.tools.openapi_tool.openapi_spec_parser.openapi_toolset import OpenAPIToolset
from runtime.tools.openapi_tool.openapi_spec_parser.operations import OperationEndpoint
from runtime.tools.openapi_tool.openapi_spec_parser.rest_api_tool import RestApiTool

__all__ = ["OpenAPIToolset", "OperationEndpoint", "RestApiTool"]
