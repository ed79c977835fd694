"""OpenAPIToolset: the operations of a web service as tools (contract T11)."""

import json
import logging
from collections.abc import Iterator
from typing import Any, Literal

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import AuthScheme
from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError, with_article
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset, ToolPredicate
from runtime.tools.header_provider import HeaderProvider
from runtime.tools.openapi_tool.http_exchange import (
    DEFAULT_MAX_RESPONSE_BYTES,
    DEFAULT_TIMEOUT,
    ClientFactory,
    Verify,
)
from runtime.tools.openapi_tool.openapi_spec_parser.operations import read_operations
from runtime.tools.openapi_tool.openapi_spec_parser.references import Json, UnresolvedReferenceError
from runtime.tools.openapi_tool.openapi_spec_parser.rest_api_tool import RestApiTool
from runtime.tools.openapi_tool.openapi_spec_parser.tool_names import unique_tool_names
from runtime.utils.yaml_utils import parse_yaml
from runtime.valid_text import valid_values

logger = logging.getLogger(__name__)
SpecFormat = Literal["json", "yaml"]


class OpenAPIToolset(BaseToolset):
    """Offers each operation of an OpenAPI 3.0 or 3.1 document as a tool.

    Args:
        spec_dict: the document; without a document, `spec_str` is read as JSON or YAML.
        auth_scheme: security scheme of all operations; by default, the scheme of each operation in the document.
        auth_credential: credential for the scheme. Without a usable credential, the person is asked.
        credential_key: key for a person's credential during the invocation.
        ssl_verify: certificates to trust, as httpx takes them.
        header_provider: returns further headers for a call.
        httpx_client_factory: makes the client for each request, for example with a proxy. By default, proxies of the
            environment are not used.
        preserve_property_names: True to keep the names of arguments; by default they become snake_case.
        allow_private_network_access: True to allow requests to loopback, private and link-local addresses.
        timeout: seconds for a request.
        max_response_bytes: limit of an answer in bytes; a longer answer is an error for the model.

    Raises:
        ConfigurationError: the document cannot be read, or has no absolute server URL.
    """

    def __init__(  # noqa: PLR0913  # the parameters of google-adk's class
        self,
        *,
        spec_dict: dict[str, Any] | None = None,
        spec_str: str | None = None,
        spec_str_type: SpecFormat = "json",
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
        tool_filter: ToolPredicate | list[str] | None = None,
        tool_name_prefix: str | None = None,
        ssl_verify: Verify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: ClientFactory | None = None,
        preserve_property_names: bool = False,
        allow_private_network_access: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        if not spec_dict and not spec_str:
            raise ConfigurationError("An OpenAPIToolset needs a spec: give spec_dict or spec_str.")
        document = valid_values(spec_dict or parse_spec(spec_str or "", spec_str_type))
        options = {
            "auth_scheme": auth_scheme,
            "auth_credential": auth_credential,
            "credential_key": credential_key,
            "ssl_verify": ssl_verify,
            "header_provider": header_provider,
            "httpx_client_factory": httpx_client_factory,
            "preserve_property_names": preserve_property_names,
            "allow_private_network_access": allow_private_network_access,
            "timeout": timeout,
            "max_response_bytes": max_response_bytes,
        }
        self._tools = list(_build_tools(document, options))
        # Names of operations may become equal in snake_case.
        for tool, name in zip(self._tools, unique_tool_names(t.name for t in self._tools), strict=True):
            tool.name = name

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return [tool for tool in self._tools if self._is_tool_selected(tool, readonly_context)]

    def get_tool(self, tool_name: str) -> RestApiTool | None:
        return next((tool for tool in self._tools if tool.name == tool_name), None)


def _build_tools(document: Json, options: dict[str, Any]) -> Iterator[RestApiTool]:
    for found in read_operations(document):
        given = {**options, "auth_scheme": options["auth_scheme"] or found.auth_scheme, "document": document}
        try:
            yield RestApiTool(found.name, found.description, found.endpoint, found.operation, **given)
        except UnresolvedReferenceError as error:
            logger.warning(
                "The operation %s %s is left out: %s", found.endpoint.method, found.endpoint.path, error
            )


def parse_spec(text: str, spec_format: SpecFormat) -> dict[str, Any]:
    """Return the document as a dict.

    Raises:
        ConfigurationError: the text is not a JSON or YAML object, or PyYAML is missing.
    """
    try:
        spec = parse_yaml(text) if spec_format == "yaml" else json.loads(text)
    except ConfigurationError:
        raise
    except RecursionError:
        raise ConfigurationError("The OpenAPI spec is nested too deeply to be read.") from None
    except ValueError as error:
        raise ConfigurationError(f"The OpenAPI spec is not valid {spec_format.upper()}: {error}") from error
    if not isinstance(spec, dict):
        raise ConfigurationError(f"The OpenAPI spec is {with_article(type(spec).__name__)}, not an object.")
    return spec
