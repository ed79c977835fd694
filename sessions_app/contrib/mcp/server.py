"""The methods of the MCP server, called by the SDK's server.

Protocol 2026-07-28 has no sessions. Clients of earlier versions get the SDK's stateless mode, in which a server cannot
ask its client anything, so these are told in words where to answer.

    client declares                  a call answers with
    -----------------------------    ------------------------------------------------------------------
    the extension for tasks          the task, at once; `tasks/get` has its questions and its result
    elicitation                      the result; or questions, and the repeated call brings their answers
    neither                          the result; or a text that tells where to answer
"""

import logging
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any
from uuid import uuid4

import mcp_types as wire
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.valid_text import valid_text
from sessions_app.agent_apps import registry
from sessions_app.api.access.callers import Caller
from sessions_app.api.tasks.requests import MAX_MESSAGE_ID_LENGTH, AgentOfCaller, MessageFile
from sessions_app.api.tasks.site_task import SiteTask
from sessions_app.api.tasks.task_feed import ProgressNews, TaskNews, TextNews, wait_until_at_rest
from sessions_app.asgi.origin import http_request
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, replaying
from sessions_app.conf import conf
from sessions_app.contrib.mcp import results
from sessions_app.errors import ConflictError, InvalidInputError, UnavailableError, UnexpectedError
from sessions_app.process.failures import public_error
from sessions_app.sessions.agent_access import usable_apps

CALLER = "adk_caller"
"""Key in the ASGI scope of a request, for its `Caller`."""
TASKS = "io.modelcontextprotocol/tasks"
"""The extension for tasks (SEP-2663). The tasks of protocol 2025-11-25 were an experiment, and the SDK has none."""
IDEMPOTENCY_KEY = "idempotencyKey"
"""Key in the `_meta` of a call: a call with the same key begins nothing, and gets the same task or result."""
Context = ServerRequestContext[Any, Any]
Base64 = Annotated[str, Field(description="Its bytes as base64.", json_schema_extra={"format": "byte"})]


class File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=1024)
    data: Base64


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    message: str = Field(
        description="What to tell the agent. It knows nothing but this and its conversation."
    )
    session_id: str = Field(
        "", description="Id of the conversation to go on with. Leave it out to begin another."
    )
    files: list[File] = Field(default_factory=list, description="Files for the agent.")


class TaskParams(wire.RequestParams):
    task_id: str


class UpdateTaskParams(TaskParams):
    input_responses: wire.InputResponses


async def answer(caller: Caller, scope: AsgiScope, body: bytes, receive: Receive, send: Send) -> None:
    """Answer a message whose body was read already."""
    # One for each request: a manager belongs to one event loop, and keeps nothing that another request needs.
    manager = StreamableHTTPSessionManager(_server, stateless=True, max_request_body_size=len(body) + 1)
    async with manager.run():
        await manager.handle_request({**scope, CALLER: caller}, replaying(body, receive), send)


async def list_tools(ctx: Context, params: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
    """Return the agents that the caller's user may use."""
    apps = await usable_apps(_caller(ctx).user)
    return wire.ListToolsResult(tools=[results.tool_of(app, INPUT_SCHEMA) for app in apps.values()])


async def call_tool(
    ctx: Context, params: wire.CallToolRequestParams
) -> wire.CallToolResult | wire.InputRequiredResult | dict[str, Any]:
    """Send a message to an agent, or the answers to the questions of an earlier call.

    What the model or the user of the client can put right is the text of a result; other errors are of the protocol.
    """
    async with _as_mcp_errors():
        apps = await usable_apps(_caller(ctx).user)
        if params.name not in apps:
            raise InvalidInputError("There is no such agent here, or you may not use it.")
    app = apps[params.name]
    agent = AgentOfCaller(_caller(ctx), app.name, "mcp")
    try:
        if params.request_state is None:
            task = await _begin(agent, params, ctx)
        else:  # The state is the task's id. `find` refuses tasks of others.
            task = await agent.find(params.request_state)
            task = await agent.answer(task, results.answers_in(task, params.input_responses or {}))
        if _has_tasks(ctx):
            return {"resultType": "task", **results.wire_task(task, _at(ctx), can_ask=_can_ask(ctx))}
        task = await _wait(task, ctx)
    except Exception as error:  # noqa: BLE001 - logged, and reported to the program
        public = public_error(error, "A call of an MCP tool")
        return wire.CallToolResult(content=[wire.TextContent(text=valid_text(str(public)))], is_error=True)
    if _can_ask(ctx) and results.questions_of(task):
        return wire.InputRequiredResult(input_requests=results.input_requests_of(task), request_state=task.id)
    return results.result_of(task, _at(ctx), results.output_of(app))


async def get_task(ctx: Context, params: TaskParams) -> dict[str, Any]:
    """Return a task, with its result or its questions."""
    async with _as_mcp_errors():
        task = await _tasks(ctx).find(params.task_id)
    fields = results.wire_task(task, _at(ctx), can_ask=_can_ask(ctx))
    if fields["status"] == "completed":
        app = registry.apps().get(task.session.app_name)
        result = results.result_of(task, _at(ctx), results.output_of(app) if app else None)
        fields["result"] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    elif fields["status"] == "input_required":
        asked = results.input_requests_of(task).items()
        fields["inputRequests"] = {
            key: form.model_dump(mode="json", by_alias=True, exclude_none=True) for key, form in asked
        }
    return fields


async def update_task(ctx: Context, params: UpdateTaskParams) -> dict[str, Any]:
    """Answer questions of a task. Answers to other questions are ignored."""
    async with _as_mcp_errors():
        agent = _tasks(ctx)
        task = await agent.find(params.task_id)
        await agent.answer(task, results.answers_in(task, params.input_responses))
    return {}


async def cancel_task(ctx: Context, params: TaskParams) -> dict[str, Any]:
    """Cancel the running work of a task. A task without running work stays as it is."""
    async with _as_mcp_errors():
        with suppress(ConflictError):  # It has ended, or waits for an answer.
            await _tasks(ctx).cancel(params.task_id)
    return {}


async def _begin(agent: AgentOfCaller, params: wire.CallToolRequestParams, ctx: Context) -> SiteTask:
    try:
        given = Arguments.model_validate(params.arguments or {})
        files = [MessageFile(file.name, b64decode(file.data, validate=True)) for file in given.files]
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        raise InvalidInputError(f"The arguments are wrong. {wrong}.") from error
    except ValueError as error:
        raise InvalidInputError("The data of a file is not base64.") from error
    key = (ctx.meta or {}).get(IDEMPOTENCY_KEY)
    if key is not None and (not isinstance(key, str) or not 0 < len(key) <= MAX_MESSAGE_ID_LENGTH):
        raise InvalidInputError(f"{IDEMPOTENCY_KEY} is a text of 1 to {MAX_MESSAGE_ID_LENGTH} characters.")
    return await agent.begin(key or uuid4().hex, given.message, files, given.session_id)


async def _wait(task: SiteTask, ctx: Context) -> SiteTask:
    """Return the task once it is at rest. Meanwhile report its growing texts and the progress of its jobs."""
    reported = 0

    async def report(news: TaskNews) -> None:
        nonlocal reported
        match news:
            case TextNews(text=words) | ProgressNews(line=words):
                reported += 1
                await ctx.session.report_progress(reported, message=valid_text(words))

    scope = ctx.request.scope  # type: ignore[union-attr]
    return await wait_until_at_rest(task, _caller(ctx), scope, conf().invocation_seconds, report)


def _caller(ctx: Context) -> Caller:
    caller: Caller = ctx.request.scope[CALLER]  # type: ignore[union-attr]
    return caller.in_trace((ctx.meta or {}).get("traceparent"))


def _at(ctx: Context) -> results.Addresses:
    return results.Addresses(http_request(ctx.request.scope))  # type: ignore[union-attr]


def _tasks(ctx: Context) -> AgentOfCaller:
    """Return the tasks of the caller with all agents.

    Raises:
        MCPError: the client does not declare the extension for tasks.
    """
    if not _has_tasks(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        message = f"The client does not declare the extension {TASKS}."
        raise MCPError(wire.MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)
    return AgentOfCaller(_caller(ctx), "", "mcp")


def _has_tasks(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and TASKS in (capabilities.extensions or {})


def _can_ask(ctx: Context) -> bool:
    """Return True if the client shows forms to its user. Elicitation without a mode means forms."""
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


@asynccontextmanager
async def _as_mcp_errors() -> AsyncGenerator[None, None]:
    """Convert errors of use cases to errors of the protocol."""
    try:
        yield
    except MCPError:
        raise
    except Exception as error:
        public = public_error(error, "A request of MCP")
        code = wire.INVALID_PARAMS
        if isinstance(public, UnavailableError | UnexpectedError):
            code = wire.INTERNAL_ERROR
        raise MCPError(code, valid_text(str(public))) from error


# The SDK would log the beginning and the end of each request's manager.
logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)
INPUT_SCHEMA: dict[str, Any] = Arguments.model_json_schema()


def _schema_of(name: str) -> Mapping[str, Any]:
    return INPUT_SCHEMA


_server: Server[Any] = Server(
    "agents",
    instructions="Each tool is an agent. The result names the session_id to go on with its conversation.",
    on_list_tools=list_tools,
    on_call_tool=call_tool,  # type: ignore[arg-type]  # a task is a result of the extension
)
_server.extensions[TASKS] = {}
# Without it, from version 2.3 on, each call would list all tools of the caller first.
_server.get_tool_input_schema = _schema_of
_server.add_request_handler("tasks/get", TaskParams, get_task)
_server.add_request_handler("tasks/update", UpdateTaskParams, update_task)
_server.add_request_handler("tasks/cancel", TaskParams, cancel_task)
