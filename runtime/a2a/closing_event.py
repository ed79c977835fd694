"""The event with a remote agent's whole answer (contract A10).

If the remote agent asks for something, the event contains a long-running call that asks the user, so the invocation
waits as for any other call. The answer is sent to the remote agent as the user's next message.
"""

import json

from a2a.types import Part, TaskState
from pydantic import ValidationError

from runtime import types
from runtime.a2a.errors import RemoteAgentError
from runtime.a2a.parts import converted_by, data_of, function_call_in, json_of
from runtime.a2a.reply import WAITING, Reply
from runtime.a2a.request import CALLS, CONTEXT_ID, STATE, TASK_ID
from runtime.engine.build_events import new_call_id
from runtime.events.calls import REMOTE_AUTH, REMOTE_INPUT, REQUEST_CONFIRMATION
from runtime.events.event import Event
from runtime.events.tool_confirmation import ToolConfirmation, call_to_confirm, make_request_args, question_in


def closing_event(reply: Reply, event_id: str) -> Event:
    """Return the event for a reply that has ended. The runner saves its files as artifacts (contract F5)."""
    event = Event(id=event_id, custom_metadata=conversation_metadata(reply))
    parts = reply.parts
    asked: list[types.FunctionCall] = []
    if reply.state in WAITING:
        parts, asked = _ask_person(reply, parts, event)
    shown: list[types.Part] = []
    for part in parts:
        shown += converted_by(reply.convert, part)
    shown += [types.Part(function_call=call) for call in asked]
    if shown:
        event.content = types.Content(role="model", parts=shown)
    event.long_running_tool_ids = {call.id for call in asked if call.id} or None
    if reply.failure:
        error = RemoteAgentError(reply.failure)
        event.error_code = error.code
        event.error_message = error.message
    return event


def failed_event(error: RemoteAgentError, reply: Reply, event_id: str) -> Event:
    """Return the event for a turn that broke off."""
    return Event(
        id=event_id,
        error_code=error.code,
        error_message=error.message,
        error_detail=error.detail or None,
        # So the next turn continues the remote conversation in spite of the failure.
        custom_metadata=conversation_metadata(reply) if reply.context_id else None,
    )


def conversation_metadata(reply: Reply) -> dict[str, object]:
    """Return the metadata with which the next turn continues the remote conversation."""
    state = TaskState.Name(reply.state)
    return {CONTEXT_ID: reply.context_id, TASK_ID: reply.task_id, STATE: state}


def _ask_person(reply: Reply, parts: list[Part], event: Event) -> tuple[list[Part], list[types.FunctionCall]]:
    """Return the parts that are no question, and the calls that ask the user."""
    calls = []
    others = []
    remote = {}
    for part in parts:
        theirs = function_call_in(part)
        if theirs is None:
            others.append(part)
            continue
        # A new id: ids must be unique in our session. The remote id is kept in the metadata.
        ours = _question_of(theirs)
        remote[ours.id or ""] = {"id": theirs.id, "name": theirs.name}
        calls.append(ours)
    if calls:
        event.custom_metadata = {**(event.custom_metadata or {}), CALLS: remote}
        return others, calls
    # Without a call of an ADK agent, the last text is the question.
    text = ""
    for index in range(len(others) - 1, -1, -1):
        if others[index].text or data_of(others[index]) is not None:
            prompt = others.pop(index)
            text = prompt.text or json_of(prompt)
            break
    if reply.state == TaskState.TASK_STATE_AUTH_REQUIRED:
        call = types.FunctionCall(id=new_call_id(), name=REMOTE_AUTH, args={"auth_required": text})
    else:
        call = types.FunctionCall(id=new_call_id(), name=REMOTE_INPUT, args={"input_required": text})
    return others, [call]


def _question_of(theirs: types.FunctionCall) -> types.FunctionCall:
    """Return our call for a call of an ADK agent: a confirmation stays a confirmation, other calls ask for a text."""
    args = theirs.args or {}
    original = call_to_confirm(args)
    asked = question_in(args)
    if theirs.name == REQUEST_CONFIRMATION and original and asked:
        try:
            given = ToolConfirmation.model_validate(asked)
        except ValidationError:
            given = ToolConfirmation()
        # Hint and payload only: the remote agent must not decide who confirms on our side, and for how long.
        question = ToolConfirmation(hint=given.hint, payload=given.payload)
        request = make_request_args(original, question)
        return types.FunctionCall(id=new_call_id(), name=REQUEST_CONFIRMATION, args=request)
    text = theirs.name
    if args:
        text = f"{theirs.name}: {json.dumps(args, ensure_ascii=False)}"
    return types.FunctionCall(id=new_call_id(), name=REMOTE_INPUT, args={"input_required": text})
