"""Operations of an OpenAPI document."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from runtime.auth.auth_schemes import AuthScheme
from runtime.errors import ConfigurationError
from runtime.tools.openapi_tool.auth.auth_helpers import dict_to_auth_scheme
from runtime.tools.openapi_tool.openapi_spec_parser.parameters import PLACEHOLDER
from runtime.tools.openapi_tool.openapi_spec_parser.references import (
    Json,
    References,
    UnresolvedReferenceError,
    as_list,
    as_object,
    as_text,
)
from runtime.tools.openapi_tool.openapi_spec_parser.tool_names import tool_name

METHODS = ("get", "post", "put", "delete", "patch", "head", "options", "trace")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OperationEndpoint:
    """Address of an operation. `base_url` is absolute; `path` may have placeholders."""

    base_url: str
    path: str
    method: str


@dataclass(frozen=True)
class ParsedOperation:
    """An operation. `operation` includes the parameters of its path item."""

    name: str
    description: str
    endpoint: OperationEndpoint
    operation: Json
    auth_scheme: AuthScheme | None


def read_operations(document: Json) -> Iterator[ParsedOperation]:
    """Yield the operations; log a warning for an unreadable operation and leave it out.

    Raises:
        ConfigurationError: the document is not OpenAPI 3, or an operation has no absolute server URL.
    """
    if "swagger" in document:
        raise ConfigurationError(
            f"The spec is Swagger {document['swagger']}. Convert it to OpenAPI 3 and give it again."
        )
    references = References(document)
    for path, node in as_object(document.get("paths")).items():
        for method in METHODS:
            try:
                item = references.resolve(node)
                if method in item:
                    yield _read_operation(document, str(path), method, item, references)
            except UnresolvedReferenceError as error:
                logger.warning("The operation %s %s is left out: %s", method.upper(), path, error)


def _read_operation(
    document: Json, path: str, method: str, item: Json, references: References
) -> ParsedOperation:
    operation = references.resolve(item[method])
    parameters = [references.resolve(node) for node in as_list(operation.get("parameters"))]
    overridden = {_identity(node) for node in parameters}
    for node in as_list(item.get("parameters")):
        shared = references.resolve(node)
        if _identity(shared) not in overridden:
            parameters.append(shared)
    server: Json = {}
    for owner in (operation, item, document):
        servers = as_list(owner.get("servers"))
        if servers:
            server = as_object(servers[0])
            break
    return ParsedOperation(
        name=tool_name(as_text(operation.get("operationId")), path, method),
        description=as_text(operation.get("description")) or as_text(operation.get("summary")),
        endpoint=OperationEndpoint(_server_url(server), path, method),
        operation={**operation, "parameters": parameters},
        auth_scheme=_auth_scheme(document, operation, references),
    )


def _identity(parameter: Json) -> tuple[str, str]:
    return as_text(parameter.get("name")), as_text(parameter.get("in"))


def _server_url(server: Json) -> str:
    variables = as_object(server.get("variables"))

    def default_of(placeholder: re.Match[str]) -> str:
        variable = as_object(variables.get(placeholder[1]))
        choices = [*as_list(variable.get("enum")), placeholder[0]]
        return str(variable.get("default", choices[0]))

    url = PLACEHOLDER.sub(default_of, as_text(server.get("url")))
    if not is_web_address(url):
        raise ConfigurationError(
            f"The server URL {url!r} of the OpenAPI spec is not an absolute http or https URL without open "
            'variables. Set `servers`, such as [{"url": "https://api.example.com/v1"}].'
        )
    return url


def is_web_address(url: str) -> bool:
    """Return True for an absolute http or https URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not PLACEHOLDER.search(url)


def _auth_scheme(document: Json, operation: Json, references: References) -> AuthScheme | None:
    """Return the scheme of the first security requirement; None if requests need no authentication."""
    requirements = [as_object(item) for item in as_list(operation.get("security", document.get("security")))]
    # An empty requirement among others makes the authentication optional.
    if not requirements or {} in requirements:
        return None
    name = next(iter(requirements[0]))
    schemes = as_object(as_object(document.get("components")).get("securitySchemes"))
    try:
        return dict_to_auth_scheme(references.resolve(schemes.get(name)))
    except ConfigurationError as error:
        logger.warning("Requests go without the security scheme %r: %s", name, error)
        return None
