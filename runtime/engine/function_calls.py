"""Running the function calls of a model's response (spec T2, T4, T5, T7, Q1, Q2, Q5)."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime import types
from runtime._tasks import first_failure, no_stray_cancellation, settle, stray_cancellation
from runtime._writing import go_on_in_this_task
from runtime.context import Context, InvocationContext
from runtime.engine import hooks
from runtime.engine.build_events import function_response_event, is_long_running
from runtime.engine.human_input import confirmation, credentials
from runtime.engine.human_input.answers import Confirmations
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.errors import StrayCancellationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions, merge_actions
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_result import as_response, is_refusal

Tools = Mapping[str, BaseTool]


@dataclass(frozen=True)
class CallResult:
    """What one call came to; `response` is None while a long-running tool has said nothing yet."""

    call: types.FunctionCall
    actions: EventActions
    response: dict[str, Any] | None

    def part(self) -> types.Part:
        """The response as a part of the answering event."""
        answer = types.FunctionResponse(id=self.call.id, name=self.call.name, response=self.response)
        return types.Part(function_response=answer)


@dataclass(frozen=True)
class Batch:
    """What the calls of one step came to: the results in call order, and the first failure."""

    results: list[CallResult] = field(default_factory=list)
    failure: Exception | None = None

    def event(self, ctx: InvocationContext) -> Event | None:
        """The one event that answers the calls; None when there is nothing to record."""
        parts = [result.part() for result in self.results if result.response is not None]
        actions = merge_actions(result.actions for result in self.results)
        if not parts and actions == EventActions():
            return None
        return function_response_event(ctx, parts, actions)

    def pending_ids(self, tools: Tools) -> set[str]:
        """The ids of the long-running calls that wait for an answer from outside."""
        return {
            result.call.id
            for result in self.results
            if result.call.id and is_long_running(result.call, tools) and not is_refusal(result.response)
        }


async def run_function_calls(
    agent: LlmAgentProtocol,
    ctx: InvocationContext,
    calls: list[types.FunctionCall],
    tools: Tools,
    again: Confirmations | None = None,
) -> Batch:
    """Run the calls together. When one fails the rest is stopped, and what had finished is kept.

    Kept results that would steer the flow are dropped, since the invocation ends with the failure.
    """
    settled = await settle(run_call(agent, ctx, call, tools, again or {}) for call in calls)
    results = [value for value in settled if isinstance(value, CallResult)]
    failure = first_failure(settled) or _first_cancelled(calls, settled)
    if failure:
        results = [result for result in results if not result.actions.controls_flow()]
    return Batch(results, failure)


async def run_call(
    agent: LlmAgentProtocol,
    ctx: InvocationContext,
    call: types.FunctionCall,
    tools: Tools,
    again: Confirmations,
) -> CallResult:
    """The whole life of one call, in a task of its own."""
    go_on_in_this_task()
    context = Context(ctx, function_call_id=call.id, tool_confirmation=again.get(call.id or ""))
    tool = tools.get(call.name or "")
    if tool is None:
        return CallResult(call, context.actions, _unknown_tool(call, tools))
    args = copy.deepcopy(call.args or {})
    result: Any = await hooks.before_tool(agent, tool, args, context)
    if result is None:
        result = await _run_tool(agent, tool, args, context)
    result = await hooks.after_tool(agent, tool, args, context, result)
    context.state.note_changes()
    if result is None or (tool.is_long_running and not result):
        result = _pending(context.actions, tool, is_again=call.id in again)
    if tool.is_long_running and result is None:
        return CallResult(call, context.actions, None)
    return CallResult(call, context.actions, as_response(tool.name, result))


async def _run_tool(agent: LlmAgentProtocol, tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
    try:
        with no_stray_cancellation(f"Tool {tool.name!r}"):
            stopped = await confirmation.stop_at_gate(tool, args, context)
            return stopped or await tool.run_async(args=args, tool_context=context)
    except Exception as error:
        answer = await hooks.on_tool_error(agent, tool, args, context, error)
        if answer is None:
            raise
        return answer


def _first_cancelled(
    calls: Sequence[types.FunctionCall], settled: Sequence[object]
) -> StrayCancellationError | None:
    """What became of the first call that ended in a cancellation: where none failed, it was not cancelled here."""
    for call, value in zip(calls, settled, strict=True):
        if isinstance(value, asyncio.CancelledError):
            failure = stray_cancellation(f"The call of {call.name!r}")
            failure.__cause__ = value
            return failure
    return None


def _pending(actions: EventActions, tool: BaseTool, *, is_again: bool) -> dict[str, Any] | None:
    """What stands for a result that is not there yet; None when nothing has to."""
    if actions.requested_tool_confirmations:
        return dict(confirmation.PENDING)
    if actions.requested_auth_configs:
        return dict(credentials.PENDING)
    # What was run again is always recorded: the log alone tells that it is not to be run once more.
    return {"status": "pending"} if is_again and tool.is_long_running else None


def _unknown_tool(call: types.FunctionCall, tools: Tools) -> dict[str, Any]:
    known = ", ".join(tools) or "none"
    return {"error": f"There is no tool {call.name!r}. Call one of these by its exact name: {known}."}
