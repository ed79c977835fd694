"""Conversion of a task with its events and questions to A2A: pure functions."""

from collections.abc import Iterable

from a2a import types as a2a
from google.protobuf.timestamp_pb2 import Timestamp

from runtime import types
from runtime.a2a.parts import function_call_part, to_a2a
from runtime.artifacts.referenced_artifacts import ArtifactReference
from runtime.events.calls import parts_of
from runtime.events.event import Event as RuntimeEvent
from runtime.valid_text import valid_text
from sessions_app.api.tasks.questions import text_of_question
from sessions_app.api.tasks.site_task import SiteTask
from sessions_app.api.tasks.site_task import TaskState as SiteTaskState

MAX_HISTORY = 100
"""Maximum number of messages in the history of a task."""


def task_of(task: SiteTask, artifacts: Iterable[a2a.Artifact], history_length: int | None = None) -> a2a.Task:
    """Return the task as A2A has it, with the user's last messages as its history.

    Args:
        history_length: maximum number of messages; None and larger values mean `MAX_HISTORY`.
    """
    messages = list(filter(None, (message_of(task, event) for event in task.events)))
    kept = MAX_HISTORY
    if history_length is not None and 0 <= history_length < MAX_HISTORY:
        kept = history_length
    first = max(len(messages) - kept, 0)
    return a2a.Task(
        id=task.id,
        context_id=task.context_id,
        status=status_of(task),
        artifacts=artifacts,
        history=messages[first:],
    )


def status_of(task: SiteTask) -> a2a.TaskStatus:
    """Return the status of the task. Its message is the pending questions, or the error of a failed task."""
    last = task.invocations[-1]
    status = a2a.TaskStatus(state=state_of(task), timestamp=_timestamp(task))  # type: ignore[arg-type]
    parts: list[a2a.Part] = []
    if task.is_at_rest and not task.has_ended:
        parts = [part for call in task.asked for part in question_parts(call)]
        parts += [a2a.Part(text=text_of_question(job)) for job in task.questions]
    elif task.state == SiteTaskState.FAILED and last.error_message:
        parts = [a2a.Part(text=valid_text(last.error_message))]
    if parts:
        status.message.CopyFrom(_message(task, f"{task.id}-{task.last_seq}", a2a.Role.ROLE_AGENT, parts))
    return status


def state_of(task: SiteTask) -> int:
    """Return the state of the task as a value of A2A's `TaskState`."""
    number: int = a2a.TaskState.Value(f"TASK_STATE_{task.state.name}")
    return number


def status_update(task: SiteTask, progress: str = "") -> a2a.TaskStatusUpdateEvent:
    """Return an update with the task's status; `progress` is a line about running work, empty for none."""
    status = status_of(task)
    if progress:
        parts = [a2a.Part(text=valid_text(progress))]
        status.message.CopyFrom(_message(task, f"{task.id}-progress", a2a.Role.ROLE_AGENT, parts))
    return a2a.TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=status)


def artifact_update(task: SiteTask, artifact: a2a.Artifact) -> a2a.TaskArtifactUpdateEvent:
    """Return an update with a whole artifact. It replaces the pieces sent before."""
    return a2a.TaskArtifactUpdateEvent(
        task_id=task.id, context_id=task.context_id, artifact=artifact, last_chunk=True
    )


def piece_update(task: SiteTask, event_id: str, text: str, *, is_first: bool) -> a2a.TaskArtifactUpdateEvent:
    # The event's id, under which `ArtifactMaker` sends the whole artifact once the event is committed.
    artifact = a2a.Artifact(artifact_id=event_id, parts=[a2a.Part(text=valid_text(text))])
    return a2a.TaskArtifactUpdateEvent(
        task_id=task.id, context_id=task.context_id, artifact=artifact, append=not is_first
    )


def parts_of_event(event: RuntimeEvent) -> list[a2a.Part]:
    """Return the text and data of an agent's event, without thoughts, calls and files."""
    if event.author == "user":
        return []
    words = []
    for part in parts_of(event):
        is_file = ArtifactReference.of_part(part) is not None
        if part.thought or part.function_call or part.function_response or is_file:
            continue
        if converted := to_a2a(part):
            words.append(converted)
    return words


def message_of(task: SiteTask, event: RuntimeEvent) -> a2a.Message | None:
    """Return the user's message in an event; None for other events."""
    if event.author != "user":
        return None
    parts = list(filter(None, map(_part_of_message, parts_of(event))))
    return _message(task, event.id, a2a.Role.ROLE_USER, parts) if parts else None


def question_parts(call: types.FunctionCall) -> list[a2a.Part]:
    """Return the question of a pending call, as text and as a function call."""
    # The text is for any client. Clients that know ADK's calls answer the function call by its id.
    return [a2a.Part(text=text_of_question(call)), function_call_part(call)]


def _part_of_message(part: types.Part) -> a2a.Part | None:
    """Convert a part of the user's message. Of a file only the name is returned."""
    if reference := ArtifactReference.of_part(part):
        return a2a.Part(text=valid_text(f"[File: {reference.filename}]"))
    return to_a2a(part)


def _message(task: SiteTask, message_id: str, role: a2a.Role, parts: list[a2a.Part]) -> a2a.Message:
    return a2a.Message(
        message_id=message_id, context_id=task.context_id, task_id=task.id, role=role, parts=parts
    )


def _timestamp(task: SiteTask) -> Timestamp:
    last = task.invocations[-1]
    found = Timestamp()
    found.FromDatetime(last.finished_at or last.started_at or last.created_at)
    return found
