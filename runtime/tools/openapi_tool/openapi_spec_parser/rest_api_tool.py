"""RestApiTool: one operation of a web service as a tool (contract T11)."""

import json
from functools import cached_property
from typing import Any

import pydantic_core

from runtime import types
from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import AuthScheme
from runtime.auth.placement import Placement
from runtime.context import Context
from runtime.tools.base_tool import BaseTool, job_result
from runtime.tools.header_provider import HeaderProvider, provided_headers
from runtime.tools.openapi_tool.auth.auth_helpers import dict_to_auth_scheme
from runtime.tools.openapi_tool.auth.authorize import Authorizer
from runtime.tools.openapi_tool.http_exchange import (
    DEFAULT_MAX_RESPONSE_BYTES,
    DEFAULT_TIMEOUT,
    ClientFactory,
    ExchangeError,
    HttpAnswer,
    HttpExchange,
    HttpRequest,
    Verify,
)
from runtime.tools.openapi_tool.openapi_spec_parser.model_schema import declare_arguments
from runtime.tools.openapi_tool.openapi_spec_parser.operations import OperationEndpoint
from runtime.tools.openapi_tool.openapi_spec_parser.parameters import read_parameters
from runtime.tools.openapi_tool.openapi_spec_parser.references import Json, References, as_object
from runtime.tools.openapi_tool.openapi_spec_parser.request import BadArgumentsError, build_request
from runtime.tools.openapi_tool.openapi_spec_parser.tool_names import MAX_TOOL_NAME_LENGTH
from runtime.trace_context import trace_headers

MAX_ERROR_CHARACTERS = 4_000
_TEXTUAL = ("text/", "json", "xml", "javascript", "yaml", "csv", "x-www-form-urlencoded")


class RestApiTool(BaseTool):
    """Calls an operation. The docstring of `OpenAPIToolset` explains the shared arguments.

    Args:
        operation: OpenAPI operation object, as a dict or as JSON.
        document: OpenAPI document for resolving references in the operation.
    """

    def __init__(  # noqa: PLR0913  # the parameters of google-adk's class
        self,
        name: str,
        description: str,
        endpoint: OperationEndpoint,
        operation: Json | str,
        auth_scheme: AuthScheme | Json | None = None,
        auth_credential: AuthCredential | str | None = None,
        *,
        ssl_verify: Verify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: ClientFactory | None = None,
        credential_key: str | None = None,
        preserve_property_names: bool = False,
        allow_private_network_access: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
        document: Json | None = None,
    ) -> None:
        super().__init__(name=name[:MAX_TOOL_NAME_LENGTH], description=description)
        self.endpoint = endpoint
        self.operation: Json = json.loads(operation) if isinstance(operation, str) else operation
        self.credential_key = credential_key
        self._references = References(document or {})
        self._parameters, self._body = read_parameters(
            endpoint.path, self.operation, self._references, preserve_names=preserve_property_names
        )
        self._header_provider = header_provider
        self._default_headers: dict[str, str] = {}
        self._exchange = HttpExchange(
            timeout, max_response_bytes, allow_private_network_access, ssl_verify, httpx_client_factory
        )
        self.configure_auth_scheme(auth_scheme)
        self.configure_auth_credential(auth_credential)

    def configure_auth_scheme(self, auth_scheme: AuthScheme | Json | None) -> None:
        """Set the security scheme, given as an object or a dict."""
        self.auth_scheme = dict_to_auth_scheme(auth_scheme) if isinstance(auth_scheme, dict) else auth_scheme

    def configure_auth_credential(self, auth_credential: AuthCredential | str | None = None) -> None:
        """Set the credential, given as an object or as JSON."""
        if isinstance(auth_credential, str):
            auth_credential = AuthCredential.model_validate_json(auth_credential)
        self.auth_credential = auth_credential

    def configure_credential_key(self, credential_key: str | None = None) -> None:
        self.credential_key = credential_key

    def set_default_headers(self, headers: dict[str, str]) -> None:
        """Set default headers; arguments and the authentication override them."""
        self._default_headers = headers

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._arguments
        )

    @cached_property
    def _arguments(self) -> Json:
        # Made at the first use: a service may have a thousand operations.
        properties: dict[str, Any] = {}
        for item in self._parameters:
            properties[item.name] = item.schema
            if item.description:
                properties[item.name] = {"description": item.description, **as_object(item.schema)}
        required = [item.name for item in self._parameters if item.required]
        return declare_arguments(properties, required, self._references)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context | None) -> Any:
        """Send the request and return the result; None if the person was asked for a credential."""
        try:
            return await self._call(args, tool_context)
        except (BadArgumentsError, ExchangeError) as error:
            return failure(self.name, str(error))

    async def is_ready_for_job(self, *, tool_context: Context) -> bool:
        """Let the person sign in before the job, which cannot ask."""
        return await self._authorizer().sign_in_before_job(tool_context)

    async def run_in_job(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Send the request and return the result. An error status fails the job.

        Raises:
            ExchangeError: the service did not answer.
        """
        try:
            result = await self._call(args, tool_context)
        except BadArgumentsError as error:
            result = failure(self.name, str(error))
        return job_result(result)

    async def _call(self, args: dict[str, Any], tool_context: Context | None) -> Any:
        authorizer = self._authorizer()
        auth = await authorizer.authorize(tool_context)
        if auth is None:
            return None
        answer = await self._send(args, auth, tool_context)
        # The service has done nothing yet. Without another token, the next call asks the person.
        if answer.status == 401 and (renewed := await authorizer.replace(tool_context, auth)):
            answer = await self._send(args, renewed, tool_context)
        return as_result(self.name, answer)

    def _authorizer(self) -> Authorizer:
        return Authorizer(self.auth_scheme, self.auth_credential, self.credential_key, self._exchange)

    async def _send(self, args: dict[str, Any], auth: Placement, tool_context: Context | None) -> HttpAnswer:
        request = build_request(self.endpoint, self._parameters, self._body, args, auth)
        return await self._exchange.send(await self._add_headers(request, tool_context))

    async def _add_headers(self, request: HttpRequest, tool_context: Context | None) -> HttpRequest:
        provided = await provided_headers(self._header_provider, tool_context)
        headers = {**trace_headers(), **self._default_headers, **request.headers, **provided}
        return HttpRequest(request.method, request.url, headers, request.content)


def as_result(tool_name: str, answer: HttpAnswer) -> Any:
    """Return the JSON of a successful answer, `{'text': …}` for another text, or `{'error': …}`."""
    if not 200 <= answer.status < 300:
        return failure(tool_name, f"Status Code: {answer.status}, {_cut(_read_body(answer))}")
    # An error for the model, because half of a JSON document cannot be read.
    if answer.is_cut:
        beginning = _cut(_read_body(answer))
        return failure(
            tool_name,
            f"The answer is larger than {len(answer.body)} bytes. Ask for less. It begins with: {beginning}",
        )
    try:
        return pydantic_core.from_json(answer.body)
    except ValueError:
        return {"text": _read_body(answer)}


def failure(tool_name: str, reason: str) -> dict[str, Any]:
    """Return an error response for the model."""
    return {
        "error": f"Tool {tool_name} failed: {reason}\nCorrect the arguments if they are the cause; otherwise "
        "tell the user. Do not repeat the same call more than three times."
    }


def _read_body(answer: HttpAnswer) -> str:
    kind = answer.headers.get("content-type", "text/plain").lower()
    if not any(word in kind for word in _TEXTUAL):
        return f"({len(answer.body)} bytes of {kind}, not shown)"
    return answer.body.decode("utf-8", "replace")


def _cut(text: str) -> str:
    if len(text) <= MAX_ERROR_CHARACTERS:
        return text
    return f"{text[:MAX_ERROR_CHARACTERS]} … (cut)"
