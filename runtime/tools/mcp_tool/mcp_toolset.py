"""McpToolset: the tools of an MCP server."""

import logging
from typing import Any

from mcp import StdioServerParameters
from mcp.client.session import ElicitationFnT, SamplingFnT
from mcp.types import BlobResourceContents, SamplingCapability, TextResourceContents, Tool

from runtime.auth.auth_credential import AuthCredential
from runtime.auth.auth_schemes import AuthScheme
from runtime.context import ReadonlyContext
from runtime.events.answer_rules import PERSON, check_confirmer
from runtime.models.base_llm import SetupProblem
from runtime.tools.base_tool import BaseTool, is_reserved
from runtime.tools.base_toolset import BaseToolset, ToolPredicate
from runtime.tools.header_provider import HeaderProvider
from runtime.tools.mcp_allow_list import refused_server_problem
from runtime.tools.mcp_tool.connection import PERSON_ANSWERS, ClientHandlers, SignInNeededError
from runtime.tools.mcp_tool.connection_params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
    is_allowed,
)
from runtime.tools.mcp_tool.headers import HeaderSource
from runtime.tools.mcp_tool.load_mcp_resource_tool import LoadMcpResourceTool
from runtime.tools.mcp_tool.mcp_tool import (
    McpTool,
    ProgressCallback,
    ProgressCallbackFactory,
    SignInTool,
    answers_request,
    callable_name,
)
from runtime.tools.mcp_tool.server import McpServer
from runtime.tools.require_confirmation import Predicate

__all__ = [
    "MCPToolset",
    "McpToolset",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StreamableHTTPConnectionParams",
]

logger = logging.getLogger(__name__)


class McpToolset(BaseToolset):
    """Tools of an MCP server, listed once in an invocation and sorted by name.

    All invocations and toolsets with the same parameters and headers share one connection per process and event loop.
    The connection is opened at the first use, and again after a restart of the server. `close` closes it.

    Args:
        connection_params: the server, with a transport and timeouts.
        tool_filter: the names of the offered tools, without prefix, or a predicate; None offers all.
        tool_name_prefix: a prefix for all names, joined with an underscore.
        auth_scheme: the security scheme of the credential; needed for an API key, an OAuth client, and a
            `ProtectedResource` with its own scopes.
        auth_credential: a key, a token, a name and password, or an OAuth client. Without it, a server with an address
            that wants a sign-in gets the person's.
        require_confirmation: True if a person must confirm each call. A predicate decides per call, as for
            `FunctionTool`.
        may_allow_for_session: True to let the person allow the later calls of the session with the first answer.
        confirmed_by: the party that may confirm a call: see `FunctionTool`.
        header_provider: a function that returns headers for an invocation, such as the user's token.
        progress_callback: a coroutine function that takes the progress of calls, or a function from a tool name and
            `callback_context` to such a coroutine function.
        use_mcp_resources: True to offer the server's resources through a tool `load_mcp_resource`.
        elicitation_callback: a coroutine function that answers the server's questions in place of the person.
        sampling_callback: a coroutine function that answers the server's requests for a model's answer.
        sampling_capabilities: abilities of `sampling_callback`, announced to the server.
        propagate_grounding_metadata: True to give the next response of the model the sources that an answer of the
            server has in `adk_grounding_metadata` of its `_meta`.
        credential_key: the key under which the person's sign-in is kept; by default one for the server's address.

    Raises:
        ConfigurationError: the credential does not fit into a header, or is an OAuth client without its scheme.
    """

    def __init__(  # noqa: PLR0913  # parameters of google-adk
        self,
        *,
        connection_params: ConnectionParams | StdioServerParameters,
        tool_filter: list[str] | ToolPredicate | None = None,
        tool_name_prefix: str | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        require_confirmation: bool | Predicate = False,
        may_allow_for_session: bool = False,
        confirmed_by: str = PERSON,
        header_provider: HeaderProvider | None = None,
        progress_callback: ProgressCallback | ProgressCallbackFactory | None = None,
        use_mcp_resources: bool = False,
        elicitation_callback: ElicitationFnT | None = None,
        sampling_callback: SamplingFnT | None = None,
        sampling_capabilities: SamplingCapability | None = None,
        propagate_grounding_metadata: bool = False,
        credential_key: str | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        if isinstance(connection_params, StdioServerParameters):
            connection_params = StdioConnectionParams(server_params=connection_params)
        url = ""
        if not isinstance(connection_params, StdioConnectionParams):
            has_token = "authorization" in map(str.lower, connection_params.headers or ())
            url = "" if has_token else connection_params.url
        headers = HeaderSource(header_provider, auth_scheme, auth_credential, credential_key, url)
        handlers = PERSON_ANSWERS
        if elicitation_callback or sampling_callback:
            handlers = ClientHandlers(elicitation_callback, sampling_callback, sampling_capabilities)
        self._server = McpServer(connection_params, headers, handlers)
        self._require_confirmation = require_confirmation
        self._may_allow_for_session = may_allow_for_session
        self._confirmed_by = check_confirmer(confirmed_by, "McpToolset", may_allow_for_session)
        self._progress_callback = progress_callback
        self._propagate_grounding_metadata = propagate_grounding_metadata
        self._use_mcp_resources = use_mcp_resources
        self._skipped: frozenset[str] = frozenset()

    @property
    def connection_params(self) -> ConnectionParams:
        return self._server.params

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return the tools of the server, except tools whose name is reserved or equal to the name of another tool.

        Raises:
            ConfigurationError: the server is not on the process's list of MCP servers.
            McpConnectionError: the server cannot be reached.
            MCPError: the server refuses the list.
            SignInNeededError: the server wants a credential, and its author decides on it.
        """
        try:
            listed = await self._server.list_tools(readonly_context)
        except SignInNeededError as error:
            if readonly_context is None or self._server.credential_key is None:
                raise
            return [SignInTool(self._server, error)]
        tools: dict[str, BaseTool] = {}
        skipped: set[str] = set()

        for tool in sorted(listed, key=lambda tool: tool.name):
            name = callable_name(tool.name)
            if name in tools or is_reserved(name):
                skipped.add(tool.name)
            else:
                tools[name] = self._as_tool(tool)
        self._warn_of(frozenset(skipped))
        own_tools: list[BaseTool] = [LoadMcpResourceTool(self._server)] if self._use_mcp_resources else []
        # The call that the person has answered runs again, and must be found.
        if readonly_context and answers_request(readonly_context, self._server.credential_key):
            own_tools.append(SignInTool(self._server, None))
        return [*tools.values(), *own_tools]

    async def list_resources(self, readonly_context: ReadonlyContext | None = None) -> list[str]:
        """Return the names of the server's resources. Raise the errors of `get_tools`."""
        return [resource.name for resource in await self._server.list_resources(readonly_context)]

    async def get_resource_info(
        self, name: str, readonly_context: ReadonlyContext | None = None
    ) -> dict[str, Any]:
        """Return the server's description of a resource.

        Raises:
            ValueError: the server has no such resource.
        """
        resource = await self._server.find_resource(name, readonly_context)
        return resource.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def read_resource(
        self, name: str, readonly_context: ReadonlyContext | None = None
    ) -> list[TextResourceContents | BlobResourceContents]:
        """Return the contents of a resource.

        Raises:
            ValueError: the server has no such resource.
        """
        resource = await self._server.find_resource(name, readonly_context)
        return await self._server.read_resource(resource, readonly_context)

    def setup_problems(self) -> list[SetupProblem]:
        if is_allowed(self._server.params):
            return []
        return [refused_server_problem(self._server.name)]

    async def close(self) -> None:
        """Close the connections of the running event loop, unless another toolset uses them."""
        await self._server.close()

    def _as_tool(self, tool: Tool) -> McpTool:
        return McpTool(
            mcp_tool=tool,
            server=self._server,
            require_confirmation=self._require_confirmation,
            may_allow_for_session=self._may_allow_for_session,
            confirmed_by=self._confirmed_by,
            progress_callback=self._progress_callback,
            propagate_grounding_metadata=self._propagate_grounding_metadata,
        )

    def _warn_of(self, skipped: frozenset[str]) -> None:
        # Once for each set of names: the tools are listed in every invocation.
        if skipped and skipped != self._skipped:
            names = ", ".join(repr(name) for name in sorted(skipped))
            logger.warning(
                "Tools of the MCP server %r are left out, because their names are in use: %s.",
                self._server.name,
                names,
            )
        self._skipped = skipped


MCPToolset = McpToolset
