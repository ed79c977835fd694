"""From an OpenAPI 3.0 or 3.1 document to tools.

openapi_toolset   text of a document to its tools      operations   the operations of a document
references        the targets of `$ref`                parameters   parameters and body of an operation
model_schema      schemas for a model                  request      arguments to an HTTP request (styles, bodies)
rest_api_tool     a call, and its answer as a result
"""

from runtime.tools.openapi_tool.openapi_spec_parser.openapi_toolset import OpenAPIToolset
from runtime.tools.openapi_tool.openapi_spec_parser.operations import OperationEndpoint
from runtime.tools.openapi_tool.openapi_spec_parser.rest_api_tool import RestApiTool

__all__ = ["OpenAPIToolset", "OperationEndpoint", "RestApiTool"]
