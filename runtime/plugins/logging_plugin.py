"""LoggingPlugin: logs every invocation in readable lines."""

import json
import logging
import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.context import Context, InvocationContext
from runtime.events.event import Event
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse, parts_in
from runtime.plugins.base_plugin import BasePlugin
from runtime.tools.base_tool import BaseTool

logger = logging.getLogger(__name__)
# Arguments and results of tools may have any size and depth; each value is one readable line.
MAX_TEXT_LENGTH = 200
MAX_ITEMS = 20
MAX_DEPTH = 6
_SECRET_KEY = re.compile(
    r"passw(or)?d|secret|token|api_?key|authorization|credential|cookie|private_?key", re.IGNORECASE
)
_SECRET_TEXT = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)


class LoggingPlugin(BasePlugin):
    """Logs one line for each hook: failures at ERROR, everything else at INFO.

    Each line begins with the invocation's id. Values under names such as `password` or `api_key` are masked. Texts of
    people and models are logged, up to 200 characters each. The plugin changes nothing in the invocation.
    """

    def __init__(self, name: str = "logging_plugin") -> None:
        super().__init__(name)

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        session = invocation_context.session
        where = f"user {session.user_id} in session {session.id} of {session.app_name}"
        _log(invocation_context, f"{where}: {format_content(user_message)}")

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        _log(invocation_context, f"run starts with agent {invocation_context.agent.name}")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        if event.partial:
            return
        actions = event.actions.model_dump(exclude_defaults=True, exclude_none=True)
        author = event.author
        if event.is_final_response():
            author += ", final"
        line = f"event by {author}, id {event.id}: {format_content(event.content)}"
        if actions:
            line += f"; actions {format_value(actions)}"
        _log(invocation_context, line)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        _log(invocation_context, "run ends")

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        line = f"agent {agent.name} starts"
        if callback_context.branch:
            line += f" on branch {callback_context.branch}"
        _log(callback_context, line)

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        _log(callback_context, f"agent {agent.name} ends")

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        contents = llm_request.contents
        latest = "nothing"
        if contents:
            latest = format_content(contents[-1])
        tools = ", ".join(llm_request.tools_dict) or "none"
        asks = f"agent {callback_context.agent_name} asks model {llm_request.model}"
        _log(callback_context, f"{asks}: {len(contents)} contents, tools {tools}, latest: {latest}")

    async def after_model_callback(self, *, callback_context: Context, llm_response: LlmResponse) -> None:
        if llm_response.partial:
            return
        if llm_response.error_code:
            error = f"{llm_response.error_code}: {shorten(llm_response.error_message or '')}"
            line = f"model answers agent {callback_context.agent_name} with {error}"
            _log(callback_context, line, logging.ERROR)
            return
        line = f"model answers agent {callback_context.agent_name}"
        usage = llm_response.usage_metadata
        if usage:
            line += f" ({usage.prompt_token_count} + {usage.candidates_token_count} tokens)"
        _log(callback_context, f"{line}: {format_content(llm_response.content)}")

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> None:
        fails = f"model {llm_request.model} fails for agent {callback_context.agent_name}"
        _log(callback_context, f"{fails}: {_format_error(error)}", logging.ERROR)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> None:
        starts = f"tool {tool.name} starts, call {tool_context.function_call_id}"
        _log(tool_context, f"{starts}: {format_value(tool_args)}")

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, result: Any
    ) -> None:
        ends = f"tool {tool.name} ends, call {tool_context.function_call_id}"
        _log(tool_context, f"{ends}: {format_value(result)}")

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context, error: Exception
    ) -> None:
        fails = f"tool {tool.name} fails, call {tool_context.function_call_id}"
        _log(tool_context, f"{fails}: {_format_error(error)}", logging.ERROR)


def _log(context: InvocationContext | Context, line: str, level: int = logging.INFO) -> None:
    logger.log(level, "[%s] %s", context.invocation_id, line)


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {shorten(str(error))}"


def format_value(value: object) -> str:
    """Return the value as one line of JSON."""
    return json.dumps(_simplify(value, MAX_DEPTH), ensure_ascii=False)


def format_content(content: types.Content | None) -> str:
    """Return the parts of a content on a single line, separated by ` | `."""
    return " | ".join(map(_format_part, parts_in(content))) or "nothing"


def shorten(text: str, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Return the text on one line, with HTTP credentials masked. Truncate a long text and add its length."""
    line = " ".join(_SECRET_TEXT.sub(r"\1 ***", text).split())
    if len(line) <= max_length:
        return line
    return f"{line[:max_length]}… ({len(text)} characters)"


def _simplify(value: object, depth: int) -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        if depth == 0:
            return "{…}"
        return _simplify_mapping(value, depth)
    if isinstance(value, list | tuple | set | frozenset):
        if depth == 0:
            return "[…]"
        return _simplify_sequence(value, depth)
    return shorten(str(value))


def _simplify_mapping(fields: Mapping[Any, object], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in islice(fields.items(), MAX_ITEMS):
        # Numbers under such names are harmless, such as counts of tokens.
        if _SECRET_KEY.search(str(name)) and not isinstance(value, bool | int | float | None):
            value = "***"
        shown[str(name)] = _simplify(value, depth - 1)
    if len(fields) > MAX_ITEMS:
        shown["…"] = f"{len(fields) - MAX_ITEMS} more"
    return shown


def _simplify_sequence(items: Collection[object], depth: int) -> list[Any]:
    shown = [_simplify(item, depth - 1) for item in islice(items, MAX_ITEMS)]
    if len(items) > MAX_ITEMS:
        shown.append(f"… {len(items) - MAX_ITEMS} more")
    return shown


def _format_part(part: types.Part) -> str:
    if part.text is not None and part.thought:
        return f"thought: {shorten(part.text)}"
    if part.text is not None:
        return f"text: {shorten(part.text)}"
    if part.function_call:
        return f"call {part.function_call.name}{format_value(part.function_call.args or {})}"
    if part.function_response:
        return f"response {part.function_response.name}{format_value(part.function_response.response or {})}"
    if part.inline_data:
        return f"file {part.inline_data.mime_type}, {len(part.inline_data.data or b'')} bytes"
    if part.file_data:
        return f"file {shorten(part.file_data.file_uri or '')}"
    if part.executable_code:
        return f"code: {shorten(part.executable_code.code or '')}"
    if part.code_execution_result:
        return f"code result: {shorten(part.code_execution_result.output or '')}"
    return "another part"
