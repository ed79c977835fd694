"""Confirmations: a person allows or rejects a function call (contract T7).

The call gets a "pending" response, then a call of `adk_request_confirmation` asks the person. `answers.py` decides
which calls run after the answer; this module checks a call before it runs, the first time and when it is rerun.
"""

from collections.abc import Iterable
from typing import Any

from runtime import types
from runtime.context import Context
from runtime.engine.build_events import new_call_id
from runtime.errors import InvalidAnswerError
from runtime.events.allowances import ToolOfAgent
from runtime.events.calls import REQUEST_CONFIRMATION, ResponseStatus
from runtime.events.event_actions import EventActions
from runtime.events.tool_confirmation import ToolConfirmation, default_hint, make_request_args
from runtime.tools.base_tool import BaseTool

PENDING = {
    "status": ResponseStatus.PENDING.value,
    "message": "This call requires confirmation by the person. It has not run yet; do not call it again.",
}
REJECTED = "The person rejected this call: it did not run."
REJECTED_BECAUSE = "This call was rejected: it did not run. The reason: "


async def unconfirmed_response(
    tool: BaseTool, args: dict[str, Any], context: Context
) -> dict[str, Any] | None:
    """Return the response to an unconfirmed or rejected call; None if the call may run.

    An allowance given earlier in the session confirms the call. A tool that calls `request_confirmation` itself always
    runs, and reads the answer.
    """
    if not await tool.needs_confirmation(args=args, tool_context=context):
        return None
    if context.tool_confirmation is None and tool.may_allow_for_session:
        _use_allowance(tool, context)
    answer = context.tool_confirmation
    if answer is None:
        _ask(tool, context)
        return dict(PENDING)
    if answer.confirmed:
        return None
    # A response and not an exception: the model reads the refusal and its reason, and continues.
    if answer.reason:
        return ResponseStatus.REJECTED.with_error(REJECTED_BECAUSE + answer.reason)
    return ResponseStatus.REJECTED.with_error(REJECTED)


def name_confirmer(tool: BaseTool, context: Context) -> None:
    """Write the party that may answer into the question about the call, if there is a question."""
    question = context.actions.requested_tool_confirmations.get(context.function_call_id or "")
    if question is not None:
        question.confirmed_by = tool.confirmed_by


def confirmation_requests(
    calls: Iterable[types.FunctionCall], actions: EventActions
) -> list[types.FunctionCall]:
    """Return a confirmation request for each call that needs a confirmation."""
    requested = actions.requested_tool_confirmations
    return [_request(call, requested[call.id]) for call in calls if call.id in requested]


def read_confirmation(response: types.FunctionResponse) -> ToolConfirmation:
    """Return the person's answer.

    Raises:
        InvalidAnswerError: the answer cannot be read.
    """
    try:
        return ToolConfirmation.of_response(response.response)
    except (ValueError, TypeError) as error:
        raise InvalidAnswerError(
            f"The answer to confirmation request {response.id!r} cannot be read: {error}. "
            'Send {"confirmed": true} or {"confirmed": false}, with a "payload" if one was asked for.'
        ) from error


def _use_allowance(tool: BaseTool, context: Context) -> None:
    """Confirm the call if an allowance covers it."""
    allowed = context.invocation.scope.allowances(context.session.events)
    given_at = allowed.get(ToolOfAgent(agent=context.agent_name, tool=tool.name))
    if given_at is not None:
        context.allowed_at = given_at
        context.tool_confirmation = ToolConfirmation(confirmed=True, for_session=True)


def _ask(tool: BaseTool, context: Context) -> None:
    context.request_confirmation(hint=default_hint(tool.name))
    if tool.may_allow_for_session:
        question = context.actions.requested_tool_confirmations[context.function_call_id or ""]
        question.for_session = True


def _request(call: types.FunctionCall, question: ToolConfirmation) -> types.FunctionCall:
    args = make_request_args({"id": call.id, "name": call.name, "args": call.args or {}}, question)
    return types.FunctionCall(id=new_call_id(), name=REQUEST_CONFIRMATION, args=args)
