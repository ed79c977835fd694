"""McpTool: a tool of an MCP server."""

import base64
import binascii
import inspect
import logging
import re
from typing import Any, Protocol

from mcp import Client, MCPError
from mcp.types import CallToolResult, InputRequiredResult, RequestParamsMeta, Tool
from pydantic import ValidationError

from runtime import types
from runtime.artifacts.named_files import name_prefix
from runtime.context import Context, ReadonlyContext
from runtime.errors import AdkError, ModelError
from runtime.events.answer_rules import PERSON
from runtime.events.calls import REQUEST_CREDENTIAL, ResponseStatus
from runtime.models.llm_response import parts_in
from runtime.tools.base_tool import BaseTool
from runtime.tools.callables import underlying_function
from runtime.tools.mcp_tool.connection import ConnectionLostError, McpConnectionError, SignInNeededError
from runtime.tools.mcp_tool.elicitation import (
    PENDING,
    ask_person,
    ask_to_open_pages,
    given_answers,
    why_declined,
)
from runtime.tools.mcp_tool.server import McpServer
from runtime.tools.openapi_tool.http_exchange import ExchangeError
from runtime.tools.progress import progress_receiver
from runtime.tools.require_confirmation import Predicate, is_confirmation_required
from runtime.tools.sources import add_sources
from runtime.tools.tool_result import ResultFile, ToolError
from runtime.trace_context import trace_headers

logger = logging.getLogger(__name__)
# The largest set of names that all providers accept.
_MAX_NAME_LENGTH = 64
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
Block = dict[str, Any]


class ProgressCallback(Protocol):
    """Coroutine function that takes the progress of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Handle the progress."""


class ProgressCallbackFactory(Protocol):
    """Function that returns the callback for a call, or None."""

    def __call__(
        self, tool_name: str, *, callback_context: Context, **kwargs: Any
    ) -> ProgressCallback | None:
        """Return the callback."""


def on_progress(
    given: ProgressCallback | ProgressCallbackFactory | None, tool_name: str, tool_context: Context
) -> ProgressCallback | None:
    """Return a callback that informs both the given callback and the receiver of this call's progress, or None."""
    callback = _callback_of(given, tool_name, tool_context)
    receiver = progress_receiver()
    if receiver is None:
        return callback

    async def both(progress: float, total: float | None, message: str | None) -> None:
        receiver(progress, total or 0.0, message or "")
        if callback is not None:
            await callback(progress, total, message)

    return both


def _callback_of(given: Any, tool_name: str, tool_context: Context) -> ProgressCallback | None:
    is_factory = given is not None and not inspect.iscoroutinefunction(underlying_function(given))
    callback: ProgressCallback | None = (
        given(tool_name, callback_context=tool_context) if is_factory else given
    )
    return callback


class UnreadableAnswerError(AdkError):
    """The server's answer violates the protocol or the tool's output schema."""


def callable_name(name: str) -> str:
    """Return a server's tool name in a form that models accept: other characters become underscores."""
    accepted = _NOT_IN_A_NAME.sub("_", name)
    if not accepted[:1].isalpha():
        accepted = f"_{accepted.lstrip('_')}"
    return accepted[:_MAX_NAME_LENGTH]


class McpTool(BaseTool):
    """Tool of an MCP server, declared to the model with the server's schema.

    Attributes:
        mcp_tool: the server's description of the tool.
    """

    def __init__(
        self,
        *,
        mcp_tool: Tool,
        server: McpServer,
        require_confirmation: bool | Predicate = False,
        may_allow_for_session: bool = False,
        confirmed_by: str = PERSON,
        progress_callback: ProgressCallback | ProgressCallbackFactory | None = None,
        propagate_grounding_metadata: bool = False,
    ) -> None:
        super().__init__(name=callable_name(mcp_tool.name), description=mcp_tool.description or "")
        self.title = mcp_tool.title
        self.mcp_tool = mcp_tool
        self._server = server
        self._require_confirmation = require_confirmation
        self.may_allow_for_session = may_allow_for_session
        self.confirmed_by = confirmed_by
        self._progress_callback = progress_callback
        self.propagate_grounding_metadata = propagate_grounding_metadata

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema={"properties": {}, **self.mcp_tool.input_schema, "type": "object"},
        )

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        return await is_confirmation_required(self._require_confirmation, args, tool_context)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Call the tool. Return a failure of the server or the connection as an error response to the model.

        Raises:
            ConfigurationError: the server is not on the process's list of MCP servers.
        """
        if reason := why_declined(tool_context):
            return ResponseStatus.REJECTED.with_error(reason)
        try:
            result = await self._call(args, tool_context)
        except SignInNeededError as error:
            return await ask_to_sign_in(self._server, tool_context, error)
        except (McpConnectionError, ExchangeError) as error:
            logger.warning("MCP tool %r: %s", self.name, error)
            return {"error": str(error)}
        except ModelError as error:
            return {
                "error": f"The model did not answer the MCP server {self._server.name!r}: {error.message}"
            }
        except MCPError as error:
            if self._server.asks_person and ask_to_open_pages(tool_context, self._server.name, error):
                return dict(PENDING)
            return self._report_failure(error)
        except UnreadableAnswerError as error:
            return self._report_failure(error)
        if isinstance(result, InputRequiredResult):
            if ask_person(tool_context, self._server.name, result):
                return dict(PENDING)
            return {
                "error": f"The MCP server {self._server.name!r} asks for something that it cannot get here."
            }
        self._pass_sources_on(result, tool_context)
        return await response_of(result, self.name, tool_context)

    def _report_failure(self, error: Exception) -> dict[str, str]:
        logger.warning("MCP tool %r of %r: %s", self.name, self._server.name, error)
        return {"error": f"The MCP server {self._server.name!r} answered with an error: {error}"}

    def _pass_sources_on(self, result: CallToolResult, tool_context: Context) -> None:
        sources = (result.meta or {}).get("adk_grounding_metadata")
        if sources is None or not self.propagate_grounding_metadata:
            return
        try:
            add_sources(tool_context, types.GroundingMetadata.model_validate(sources))
        except ValidationError as error:
            logger.warning("MCP tool %r: the sources of its answer cannot be read: %s", self.name, error)

    async def run_in_job(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Call the tool. An error reported by the tool fails the job.

        Raises:
            McpConnectionError: the server cannot be reached, or the connection was lost before the answer.
            MCPError: the server refused the call, or did not answer in time.
            UnreadableAnswerError: the answer violates the protocol or the tool's output schema.
        """
        result = await self._call(args, tool_context)
        if isinstance(result, InputRequiredResult):
            return ToolError("The tool asks the user something, which a job cannot do.")
        response = await response_of(result, self.name, tool_context)
        if result.is_error:
            texts = [block["text"] for block in response["content"] if block["type"] == "text"]
            return ToolError("\n".join(texts) or "The tool failed without a word.")
        return response

    async def _call(
        self, args: dict[str, Any], tool_context: Context
    ) -> CallToolResult | InputRequiredResult:
        callback = on_progress(self._progress_callback, self.name, tool_context)
        responses, state = await given_answers(tool_context)

        # Not in a header: all invocations share a connection, and MCP has a place in each request.
        meta = RequestParamsMeta(**trace_headers()) or None  # type: ignore[typeddict-item]

        async def send(client: Client) -> CallToolResult | InputRequiredResult:
            try:
                if self._server.asks_person:
                    return await client.session.call_tool(
                        self.mcp_tool.name,
                        args,
                        progress_callback=callback,
                        input_responses=responses,
                        request_state=state,
                        meta=meta,
                        allow_input_required=True,
                    )
                return await client.call_tool(self.mcp_tool.name, args, progress_callback=callback, meta=meta)
            # The client raises these for answers that do not follow the protocol or the output schema.
            except (RuntimeError, ValueError) as error:
                raise UnreadableAnswerError(str(error)) from error

        try:
            return await self._server.request(tool_context, send)
        except ConnectionLostError as error:
            raise ConnectionLostError(f"{error} It is not known if the call has taken effect.") from error


MCPTool = McpTool


class SignInTool(BaseTool):
    """Tool by which the model asks the person to sign in at a server that lists its tools only after that.

    Args:
        error: the server's refusal in this invocation; None if the person has signed in.
    """

    can_run_in_job = False
    stands_for_others = True

    def __init__(self, server: McpServer, error: SignInNeededError | None) -> None:
        place = server.name.partition("://")[2]
        super().__init__(
            name=callable_name(f"sign_in_to_{place}"),
            description=f"Let the user sign in to {place}. Its tools are offered after that. Call this when the user "
            "wants something that may need them.",
        )
        self._server = server
        self._error = error

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Ask the person, unless they have just signed in."""
        if self._error is None:
            return {"status": "The user has signed in. Use the tools of the service now."}
        return await ask_to_sign_in(self._server, tool_context, self._error)


async def ask_to_sign_in(
    server: McpServer, context: Context, error: SignInNeededError
) -> dict[str, str] | None:
    """Ask the person to sign in. After an answer that has not helped, tell the model instead of asking again."""
    if answers_request(context, server.credential_key):
        return {
            "error": f"{error} The user's sign-in did not work. Tell the user, and try again if they want."
        }
    is_asked = await server.ask(context, error)
    return None if is_asked else {"error": str(error)}


def answers_request(context: ReadonlyContext, key: str | None) -> bool:
    """Return True if the invocation begins with the person's answer to a request for the credential of this key."""
    for part in parts_in(context.user_content):
        response = part.function_response
        if response and response.name == REQUEST_CREDENTIAL:
            if key is not None and (response.response or {}).get("credentialKey") == key:
                return True
    return False


async def response_of(result: CallToolResult, tool_name: str, tool_context: Context) -> dict[str, Any]:
    """Return the result for the model: `content`, `structuredContent` and `isError`.

    Binary data of a block become an artifact, named by `file` in the block. Without an artifact service the data stay
    in the block, in base64.
    """
    response: dict[str, Any] = result.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"meta", "result_type"}
    )
    if tool_context.invocation.artifact_service is not None:
        prefix = name_prefix(tool_name, tool_context.function_call_id)
        for number, block in enumerate(response["content"], 1):
            await _save_data(block, f"{prefix}-{number}", tool_context)
    return response


async def _save_data(block: Block, name: str, tool_context: Context) -> None:
    """Save the binary data of a block as an artifact; replace the data by the name."""
    holder = block
    key = "data"
    if block.get("type") == "resource":
        holder = block["resource"]
        key = "blob"
    if key not in holder:
        return
    try:
        data = base64.b64decode(holder[key], validate=True)
    except binascii.Error:
        del holder[key]
        holder["error"] = "The server sent data that are not valid base64."
        return
    blob = types.Blob(data=data, mime_type=holder.get("mimeType"))
    file = ResultFile(blob, name, holder, key)
    file.note_version(await tool_context.save_artifact(file.name, file.part))
