"""Confirmations: a call that waits for a person's yes or no (spec T7).

The call is answered with "pending", then the person is asked by a call of `adk_request_confirmation`. What the answer
lets run is decided in `answers.py`; here is the gate that a call comes to, the first time and when it is run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from runtime import types
from runtime.context import Context
from runtime.engine.build_events import new_call_id
from runtime.errors import InvalidAnswerError
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.events.event_actions import EventActions
from runtime.events.tool_confirmation import ToolConfirmation
from runtime.tools.base_tool import BaseTool
from runtime.tools.tool_result import ToolError

PENDING = {
    "status": "pending",
    "message": "This call requires confirmation by the person. It has not run yet; do not call it again.",
}
REJECTED = ToolError("The person rejected this call: it did not run.")


async def stop_at_gate(tool: BaseTool, args: dict[str, Any], context: Context) -> dict[str, Any] | None:
    """The response of a call that may not run, because nobody confirmed it or a person rejected it; else None.

    A tool that asks by itself, through `request_confirmation`, gets the answer itself, be it yes or no.
    """
    if not await tool.needs_confirmation(args=args, tool_context=context):
        return None
    answer = context.tool_confirmation
    if answer is None:
        context.request_confirmation(hint=f"May {tool.name} run with these arguments?")
        return dict(PENDING)
    return None if answer.confirmed else REJECTED.as_response()


def confirmation_requests(
    calls: Iterable[types.FunctionCall], actions: EventActions
) -> list[types.FunctionCall]:
    """The calls that ask the person, one for each of `calls` that is to be confirmed."""
    asked = actions.requested_tool_confirmations
    return [_request(call, asked[call.id]) for call in calls if call.id in asked]


def read_confirmation(response: types.FunctionResponse) -> ToolConfirmation:
    """What the person answered: the fields themselves, or as one JSON text under `response`.

    Raises:
        InvalidAnswerError: it is neither.
    """
    given = response.response or {}
    try:
        if set(given) == {"response"}:
            return ToolConfirmation.model_validate(json.loads(given["response"]))
        return ToolConfirmation.model_validate(given)
    except (ValidationError, ValueError, TypeError) as error:
        raise InvalidAnswerError(
            f"The answer to the confirmation {response.id!r} cannot be read: {error}. "
            'Send {"confirmed": true} or {"confirmed": false}, with a "payload" if one was asked for.'
        ) from error


def _request(call: types.FunctionCall, question: ToolConfirmation) -> types.FunctionCall:
    args = {
        "originalFunctionCall": {"id": call.id, "name": call.name, "args": call.args or {}},
        "toolConfirmation": question.model_dump(mode="json", by_alias=True),
    }
    return types.FunctionCall(id=new_call_id(), name=REQUEST_CONFIRMATION, args=args)
