"""Execution of the function calls of a model response (contract T2, T4, T5, T7).

    run_function_calls      all calls of a step: asynchronous tools concurrently, synchronous tools in call order
      run_call              before_tool -> confirmation -> tool -> after_tool -> CallResult
                                                           | raises
                                                           v
                                                     on_tool_error
    Batch.response_event    one event with all responses and the merged actions

Every call runs in its own task with its own `Context`, so actions of concurrent calls do not mix. A failure cancels the
other calls; complete results are kept, because a resume repeats every call without a response.
"""

import asyncio
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runtime import types
from runtime._pydantic_models import construct
from runtime._tasks import exceptions_only, first_failure, settle, stray_cancellation_error
from runtime._write_scope import adopt_write_scope
from runtime.context import Context, InvocationContext
from runtime.engine import hooks
from runtime.engine.build_events import function_response_event, is_long_running
from runtime.engine.human_input import confirmation, credentials
from runtime.engine.human_input.answers import Confirmations
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.errors import StrayCancellationError, ToolNotFoundError
from runtime.events.allowances import with_used_allowances
from runtime.events.calls import ResponseStatus, with_call_seconds
from runtime.events.event import Event
from runtime.events.event_actions import EventActions, merge_actions
from runtime.models.llm_response import LlmResponse
from runtime.run_config import CallEnd
from runtime.tools.base_tool import BaseTool
from runtime.tools.task_tools import TaskAgentTool
from runtime.tools.tool_result import as_response, take_files
from runtime.tools.tool_threads import CallClock, one_after_another

Tools = Mapping[str, BaseTool]

_TOKEN_COUNTS = (
    "prompt_token_count",
    "tool_use_prompt_token_count",
    "cached_content_token_count",
    "candidates_token_count",
    "thoughts_token_count",
    "total_token_count",
)


@dataclass(frozen=True)
class CallResult:
    """Result of a call.

    Attributes:
        response: None while a long-running tool has returned nothing.
        display_text: text for the person, if no model will sum up the response.
        allowed_at: time of the allowance that confirmed the call (seconds since the epoch), or None.
        seconds: duration; None if it is not recorded.
        child_responses: answers, with usage, of models that the tool has asked, and of agents run as tools.
    """

    call: types.FunctionCall
    actions: EventActions
    response: dict[str, Any] | None
    display_text: str | None = None
    allowed_at: float | None = None
    seconds: float | None = None
    child_responses: Sequence[LlmResponse] = ()

    @property
    def waits_for_person(self) -> bool:
        """Return True if the call waits for a confirmation or a credential."""
        return bool(self.actions.requested_tool_confirmations or self.actions.requested_auth_configs)

    def response_parts(self) -> list[types.Part]:
        """Return the parts of the function response event: the response, if there is one, and the text."""
        if self.response is None:
            return []
        call = self.call
        answer = construct(types.FunctionResponse, id=call.id, name=call.name, response=self.response)
        parts = [construct(types.Part, function_response=answer)]
        if self.display_text:
            parts.append(types.Part(text=self.display_text))
        return parts


@dataclass(frozen=True)
class Batch:
    """Results of the calls of a step in call order, and the first failure."""

    results: list[CallResult] = field(default_factory=list)
    failure: Exception | None = None

    def response_event(self, ctx: InvocationContext) -> Event | None:
        """Return the event with the responses, or None if there is nothing to record."""
        actions = merge_actions(result.actions for result in self.results)
        parts: list[types.Part] = []
        used: dict[str, float] = {}
        seconds: dict[str, float] = {}
        child_responses: list[LlmResponse] = []
        for result in self.results:
            call_id = result.call.id or ""
            parts += result.response_parts()
            child_responses += result.child_responses
            if result.allowed_at:
                used[call_id] = result.allowed_at
            if result.seconds is not None:
                seconds[call_id] = result.seconds
        if not parts and actions == EventActions():
            return None
        event = with_used_allowances(function_response_event(ctx, parts, actions), used)
        _add_usage(event, child_responses)
        return with_call_seconds(event, seconds) if seconds else event

    @property
    def has_calls_without_response(self) -> bool:
        """True if a call has no result for the model yet."""
        return any(result.response is None for result in self.results)


def _add_usage(event: Event, responses: Sequence[LlmResponse]) -> None:
    """Add the usage of models asked by tools to the event with the responses.

    The event names the model of the last response. A count is None if no response has it.
    """
    # These answers are not stored (contract T6): their usage would be lost.
    if not responses:
        return
    sums: dict[str, int] = {}
    for response in responses:
        for name in _TOKEN_COUNTS:
            count = getattr(response.usage_metadata, name, None)
            if count is not None:
                sums[name] = sums.get(name, 0) + count
    event.usage_metadata = types.GenerateContentResponseUsageMetadata(**sums)
    event.model_version = responses[-1].model_version


async def run_function_calls(
    agent: LlmAgentProtocol,
    ctx: InvocationContext,
    calls: list[types.FunctionCall],
    tools: Tools,
    confirmations: Confirmations | None = None,
) -> Batch:
    """Run asynchronous tools concurrently and synchronous tools one after another, in call order.

    When a call fails, cancel the others and keep the complete results.
    """
    run = _run_measured_call if len(calls) > 1 and ctx.run_config.on_call_end else run_call
    with one_after_another():
        settled = await settle(run(agent, ctx, call, tools, confirmations or {}) for call in calls)
    results = [value for value in settled if isinstance(value, CallResult)]
    failure = first_failure(settled) or _stray_cancellation(calls, settled)
    if failure:
        # The failure ends the invocation: a recorded transfer or escalation would never be carried out.
        results = [result for result in results if not result.actions.controls_flow()]
    return Batch(results, failure)


async def _run_measured_call(
    agent: LlmAgentProtocol,
    ctx: InvocationContext,
    call: types.FunctionCall,
    tools: Tools,
    confirmations: Confirmations,
) -> CallResult:
    """Run a call and measure it; report its end unless it waits for a person or a later response."""
    clock = CallClock()
    result = await run_call(agent, ctx, call, tools, confirmations)
    if result.response is None or result.waits_for_person or is_long_running(call, tools):
        return result
    end = CallEnd(call, result.response, clock.seconds)
    if ctx.run_config.on_call_end:
        ctx.run_config.on_call_end(end)
    return replace(result, seconds=end.seconds)


async def run_call(
    agent: LlmAgentProtocol,
    ctx: InvocationContext,
    call: types.FunctionCall,
    tools: Tools,
    confirmations: Confirmations,
) -> CallResult:
    """Run a call with its hooks; return its response, or a placeholder if the call waits for a person.

    A long-running tool or a task that has returned nothing yet has no response.

    Args:
        confirmations: an entry for each call that runs again after the person's answer.
    """
    # `settle` runs each call in a new task, and the tool is still part of the invocation.
    adopt_write_scope()
    context = Context(ctx, function_call_id=call.id)
    answered = confirmations.get(call.id or "")
    if answered:
        context.tool_confirmation = answered.answer
        context.asked_payload = answered.asked_payload
    tool = tools.get(call.name or "")
    # Hooks and tools may change arguments in place; the recorded call keeps the model's (contract Q5).
    args = copy.deepcopy(call.args or {})
    if tool is None:
        answer = await _answer_unknown_tool(agent, call, args, tools, context)
        return CallResult(call, context.actions, answer)
    result: Any = await hooks.before_tool(agent, tool, args, context)
    if result is None:
        result = await _run_tool(agent, tool, args, context)
    result = await hooks.after_tool(agent, tool, args, context, result)
    # After the hooks: a tool or a callback may have asked the question itself.
    confirmation.name_confirmer(tool, context)
    # A list or dict of the state that the tool or a hook has changed in place is not in the delta yet.
    context.state.note_changes()
    if result is None or (tool.is_long_running and not result):
        result = _pending_response(context.actions, tool, is_rerun=call.id in confirmations)
    if result is None and (tool.is_long_running or isinstance(tool, TaskAgentTool)):
        context.actions.skip_summarization = None  # Nothing to sum up: the event would say nothing else.
        return CallResult(call, context.actions, None)
    display_text = tool.display_text(result) if context.actions.skip_summarization else None
    response = as_response(tool.name, await _save_files(tool, result, context))
    return CallResult(
        call,
        context.actions,
        response,
        display_text,
        context.allowed_at,
        child_responses=context.child_responses,
    )


async def _save_files(tool: BaseTool, result: Any, context: Context) -> Any:
    """Return the result with the data of its files saved as artifacts, if there is an artifact service."""
    value, files = take_files(result, tool.name, context.function_call_id)
    if context.invocation.artifact_service is not None:
        for file in files:
            file.note_version(await context.save_artifact(file.name, file.part))
    return value


async def _run_tool(agent: LlmAgentProtocol, tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
    try:
        # Within the `try`: hooks also get the error that replaces a `SystemExit` of the tool.
        with exceptions_only(f"Tool {tool.name!r}"):
            refusal = await confirmation.unconfirmed_response(tool, args, context)
            return refusal or await tool.run_async(args=args, tool_context=context)
    except Exception as error:
        report = context.invocation.run_config.on_tool_error
        if report is not None:
            report(context.function_call_id or "", tool.name, error)
        answer = await hooks.on_tool_error(agent, tool, args, context, error)
        if answer is None:
            raise
        return answer


def _stray_cancellation(
    calls: Sequence[types.FunctionCall], settled: Sequence[object]
) -> StrayCancellationError | None:
    """Return an error for the first cancelled call.

    Called if no call failed, so `settle` did not cancel any: the tool's own code ended in a `CancelledError`.
    """
    for call, value in zip(calls, settled, strict=True):
        if isinstance(value, asyncio.CancelledError):
            failure = stray_cancellation_error(f"The call of {call.name!r}")
            failure.__cause__ = value
            return failure
    return None


def _pending_response(actions: EventActions, tool: BaseTool, *, is_rerun: bool) -> dict[str, Any] | None:
    """Return the placeholder for a result that will come later, or None if the call needs none."""
    if actions.requested_tool_confirmations:
        return dict(confirmation.PENDING)
    if actions.requested_auth_configs:
        return dict(credentials.PENDING)
    if is_rerun and tool.is_long_running:
        # Without a recorded response the events would not show that the call must not run a second time.
        return {"status": ResponseStatus.PENDING.value}
    return None


async def _answer_unknown_tool(
    agent: LlmAgentProtocol, call: types.FunctionCall, args: dict[str, Any], tools: Tools, context: Context
) -> dict[str, Any]:
    """Return the answer of an `on_tool_error` hook, or an error with the names of all tools (contract T4)."""
    name = call.name or ""
    known = ", ".join(tools) or "none"
    error = ToolNotFoundError(f"There is no tool {name!r}. Call one of these by its exact name: {known}.")
    unknown = BaseTool(name=name, description="")
    answer = await hooks.on_tool_error(agent, unknown, args, context, error)
    if answer is None:
        return {"error": str(error)}
    return as_response(name, answer)
