"""Events of the log as messages of AG-UI. The questions of the framework are no messages: they become interrupts."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ag_ui import core as ag_ui

from runtime import types
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.events.calls import FRAMEWORK_CALLS, parts_of, reports_failure
from runtime.events.event import Event as RuntimeEvent
from runtime.models.llm_response import parts_in
from sessions_app.history.event_marks import writer_of

CLIENT_ID = "ag-ui:"
"""Prefix of the client ids of messages: the number of the try and the id of the message follow, after a colon."""


@dataclass(frozen=True)
class MessageIds:
    """Ids under which the client knows its own messages. A snapshot would otherwise replace them by new messages.

    Attributes:
        of_messages: ids of the person's messages, by the invocation that each began.
        of_results: ids of the results of the client's tools, by call.
    """

    of_messages: Mapping[str, str] = field(default_factory=dict)
    of_results: Mapping[str, str] = field(default_factory=dict)


def client_id_of(message_id: str, tries: int) -> str:
    """Return the client id of a message that was tried before: of two runs at once, one starts the next try."""
    return f"{CLIENT_ID}{tries}:{message_id}"


def message_id_in(client_id: str) -> str:
    """Return the id of the message in a client id with `CLIENT_ID`."""
    return client_id.removeprefix(CLIENT_ID).partition(":")[2]


def messages_of(events: Iterable[RuntimeEvent], ids: MessageIds) -> list[ag_ui.Message]:
    """Return the messages of consecutive events, oldest first."""
    messages: list[ag_ui.Message] = []
    long_running: set[str] = set()
    for event in events:
        long_running |= set(event.long_running_tool_ids or ())
        if event.author == "user":
            messages += _person_messages(event, ids)
        elif not event.actions.compaction:
            messages += _agent_messages(event)
        for response in shown_responses(event, long_running):
            message_id = _result_id(event, response, ids)
            text = result_text(response)
            messages.append(ag_ui.ToolMessage(id=message_id, tool_call_id=response.id or "", content=text))
    return _with_unique_ids(messages)


def person_text(content: types.Content | None) -> str:
    """Return the text of a person's message, with the names of its files."""
    texts = []
    for part in parts_in(content):
        reference = ArtifactReference.of_part(part)
        if reference is not None:
            texts.append(f"[File: {reference.filename}]")
        elif part.text:
            texts.append(part.text)
    return "\n".join(texts)


def thoughts_of(event: RuntimeEvent) -> str:
    return "".join(part.text for part in parts_of(event) if part.text and part.thought)


def shown_calls(event: RuntimeEvent) -> list[types.FunctionCall]:
    """Return the calls of an event without the framework's questions."""
    return [call for call in event.get_function_calls() if call.id and call.name not in FRAMEWORK_CALLS]


def shown_responses(event: RuntimeEvent, long_running: set[str]) -> list[types.FunctionResponse]:
    """Return the results in an event, without those that only say that the result comes later.

    Args:
        long_running: ids of the long-running calls so far.
    """
    asked = event.actions.requested_tool_confirmations.keys() | event.actions.requested_auth_configs.keys()
    shown = []
    for response in event.get_function_responses():
        if not response.id or response.name in FRAMEWORK_CALLS or response.id in asked:
            continue
        is_final = event.author == "user" or response.id not in long_running
        if is_final or reports_failure(response.response):
            shown.append(response)
    return shown


def arguments_text(call: types.FunctionCall) -> str:
    return json.dumps(call.args or {}, ensure_ascii=False)


def result_text(response: types.FunctionResponse) -> str:
    """Return the result of a call: a text under `result` alone as it is, all else as JSON."""
    values = response.response or {}
    result = values.get("result")
    if isinstance(result, str) and len(values) == 1:
        return result
    return json.dumps(values, ensure_ascii=False)


def result_id(event: RuntimeEvent, response: types.FunctionResponse) -> str:
    # With the event: models use the ids of calls again.
    return f"{event.id}-{response.id}"


def reasoning_id(event_id: str) -> str:
    return f"{event_id}-reasoning"


def _result_id(event: RuntimeEvent, response: types.FunctionResponse, ids: MessageIds) -> str:
    known = ids.of_results.get(response.id or "")
    if known and event.author == "user":
        return known
    return result_id(event, response)


def _person_messages(event: RuntimeEvent, ids: MessageIds) -> list[ag_ui.Message]:
    text = person_text(event.content)
    if not text:
        return []
    known = ids.of_messages.get(writer_of(event.invocation_id, event.custom_metadata))
    return [ag_ui.UserMessage(id=known or event.id, content=text)]


def _agent_messages(event: RuntimeEvent) -> list[ag_ui.Message]:
    messages: list[ag_ui.Message] = []
    if thoughts := thoughts_of(event):
        messages.append(ag_ui.ReasoningMessage(id=reasoning_id(event.id), content=thoughts))
    text = event.text()
    calls = []
    for call in shown_calls(event):
        function = ag_ui.FunctionCall(name=call.name or "", arguments=arguments_text(call))
        calls.append(ag_ui.ToolCall(id=call.id or "", function=function))
    if text or calls:
        message = ag_ui.AssistantMessage(
            id=event.id, content=text or None, tool_calls=calls or None, name=event.author
        )
        messages.append(message)
    return messages


def _with_unique_ids(messages: list[ag_ui.Message]) -> list[ag_ui.Message]:
    """Give earlier messages other ids where a client has used an id again: it would show only one of them."""
    seen: set[str] = set()
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if message.id in seen:
            messages[number] = message.model_copy(update={"id": f"{message.id}-{number}"})
        seen.add(messages[number].id)
    return messages
