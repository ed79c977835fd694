"""Request to a remote agent: the events that it has not received yet, as a message (contract A10).

A remote agent keeps its own conversation, so a message repeats nothing. The ids of the remote conversation and task are
stored in the metadata of the remote agent's last event; events after it are new to the remote agent. No other state is
kept: a rewind takes the event out of effect, and with it the remote conversation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2a.types import Message, Part, Role

from runtime import _platform, types
from runtime.a2a.parts import FileBudget, ToA2a, converted_by, function_response_part, to_a2a
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.context import InvocationContext, session_args
from runtime.engine.contents import as_seen_by, without_framework_parts
from runtime.events.calls import REMOTE_AUTH, answered_ids, parts_of
from runtime.events.event import Event, is_visible_from
from runtime.events.rewound import drop_rewound
from runtime.events.summaries import apply_summaries

CONTEXT_ID = "a2a:context_id"
TASK_ID = "a2a:task_id"
STATE = "a2a:state"
CALLS = "a2a:calls"
"""Keys in the metadata of a remote agent's event."""
MAX_FILE_BYTES = 14_000_000
ContextBuilder = Callable[[InvocationContext, str, ToA2a], tuple[Sequence[Part], str | None]]
AUTHENTICATED = "I have authenticated as you asked."


@dataclass(frozen=True)
class RemoteConversation:
    """An agent's remote conversation, as found in the log.

    Attributes:
        context_id: the remote conversation; empty for a new conversation.
        task_id: the task that waits for the user; may be empty.
        event: the remote agent's latest event; None if it never answered.
        calls: id and name of each pending remote call, by the id of our call that asks the user.
        later: events that the remote agent has not received, oldest first.
    """

    context_id: str = ""
    task_id: str = ""
    event: Event | None = None
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    later: Sequence[Event] = ()


def find_remote_conversation(
    ctx: InvocationContext, *, full_history_when_stateless: bool = False
) -> RemoteConversation:
    """Return the remote conversation of the context's agent, found in the events of the session.

    Args:
        full_history_when_stateless: send all events each time to a remote agent that keeps no conversation.
    """
    events = drop_rewound(ctx.session.events)
    for position in range(len(events) - 1, -1, -1):
        event = events[position]
        metadata = event.custom_metadata or {}
        if (event.author, event.branch) != (ctx.agent.name, ctx.branch) or STATE not in metadata:
            continue
        if full_history_when_stateless and not metadata.get(CONTEXT_ID):
            break
        waits = metadata[STATE] in ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
        # Only a task that waits can be continued; a message to any other task would be refused.
        return RemoteConversation(
            context_id=str(metadata.get(CONTEXT_ID) or ""),
            task_id=str(metadata.get(TASK_ID) or "") if waits else "",
            event=event,
            calls=metadata.get(CALLS) or {},
            later=apply_summaries(events[position + 1 :]),
        )
    return RemoteConversation(later=apply_summaries(events))


async def build_message(
    ctx: InvocationContext,
    known: RemoteConversation,
    convert: ToA2a = to_a2a,
    build: ContextBuilder | None = None,
) -> Message | None:
    """Return a message with all events since the remote agent's last answer; None without such events.

    Args:
        build: function that returns the parts, and the id of the remote conversation, for a message that answers no
            question.
    """
    answers: list[Part] = []
    said: list[Part] = []
    files = _FileLoader(ctx)
    for event in known.later:
        is_own = event.author == ctx.agent.name and STATE not in (event.custom_metadata or {})
        # Our reports of failed attempts are no news for the remote agent.
        if is_own or not is_visible_from(ctx.branch, event.branch):
            continue
        answers += _answers_in(event, known)
        if build is None:
            seen = as_seen_by(ctx.agent.name, without_framework_parts(event))
            for part in parts_of(seen):
                if not part.thought:
                    said += converted_by(convert, await files.load(part))
    context_id: str | None = known.context_id
    if build is not None and not answers:
        built, context_id = build(ctx, ctx.agent.name, convert)
        said += built
    parts = answers + said
    if not parts:
        return None
    # A task belongs to its conversation; `build` may have chosen another conversation.
    task_id = known.task_id if context_id == known.context_id else ""
    return Message(
        message_id=_platform.new_id(),
        role=Role.ROLE_USER,
        parts=parts,
        context_id=context_id or None,
        task_id=task_id or None,
    )


def open_question(known: RemoteConversation) -> types.FunctionCall | None:
    """Return the question that the user left open by sending a message instead, or None."""
    if known.event is None or not known.task_id:
        return None
    answered = answered_ids(known.later)
    for call in known.event.get_function_calls():
        if call.id not in answered:
            return call
    return None


class _FileLoader:
    """Load files that messages refer to, up to `MAX_FILE_BYTES` in total."""

    def __init__(self, ctx: InvocationContext) -> None:
        self._ctx = ctx
        self._budget = FileBudget(MAX_FILE_BYTES)

    async def load(self, part: types.Part) -> types.Part:
        """Return the part, or the file that it refers to."""
        reference = ArtifactReference.of_part(part)
        if reference is None or self._ctx.artifact_service is None:
            return part
        name = reference.filename
        args = session_args(self._ctx.session)
        file = await self._ctx.artifact_service.load_artifact(
            **args, filename=name, version=reference.version
        )
        return self._budget.part_of(name, file)


def _answers_in(event: Event, known: RemoteConversation) -> list[Part]:
    """Return the user's answers to questions of the remote agent."""
    if event.author != "user" or known.event is None:
        return []
    asked = {call.id: call for call in known.event.get_function_calls()}
    parts: list[Part] = []
    for answer in event.get_function_responses():
        if answer.id in asked:
            part = _answer_part(asked[answer.id], answer, known)
            if part is not None:
                parts.append(part)
    return parts


def _answer_part(
    call: types.FunctionCall, answer: types.FunctionResponse, known: RemoteConversation
) -> Part | None:
    """Return an answer for the remote agent: the response to its call, or a text if it made no call."""
    response = answer.response or {}
    remote = known.calls.get(call.id or "")
    if remote is not None:
        theirs = types.FunctionResponse(id=remote["id"], name=remote["name"], response=response)
        return function_response_part(theirs)
    if call.name == REMOTE_AUTH:  # The answer may hold a secret, which is not for the conversation.
        return to_a2a(types.Part(text=AUTHENTICATED))
    value = response["result"] if set(response) == {"result"} else response
    return to_a2a(types.Part(text=str(value)))
