"""Reply: the answer of a remote agent in a turn, collected from a stream or from a task (contract A10).

A remote agent answers with a message, or with a task that changes its state:

    submitted -> working -> completed                     the answer: artifacts, then the status message
                    |-----> failed, rejected, canceled     the code of a failure
                    '-----> input or auth required         the status message is a question to the user

Status messages before the end are progress: they are shown as thoughts, and are the answer only if there is no other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from a2a.types import Artifact, Message, Part, Role, StreamResponse, Task, TaskState, TaskStatus

from runtime import types
from runtime.a2a.errors import CANCELED, FAILED, REJECTED, TOO_LARGE, RemoteAgentError
from runtime.a2a.parts import ToGenai, converted_by, to_genai

MAX_TEXT_LENGTH = 1_000_000
"""Maximum number of characters of an answer."""
MAX_BYTES = 20_000_000
"""Maximum number of bytes that a remote agent may send in a turn."""
MAX_ITEMS = 20_000
"""Maximum number of items of a stream: each item costs time, even if it is short."""

WAITING: set[int] = {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}
FAILURES: dict[int, str] = {
    TaskState.TASK_STATE_FAILED: FAILED,
    TaskState.TASK_STATE_REJECTED: REJECTED,
    TaskState.TASK_STATE_CANCELED: CANCELED,
}
ENDS: set[int] = {TaskState.TASK_STATE_COMPLETED, *FAILURES, *WAITING}


@dataclass
class Reply:
    """Answer that grows with each item of a stream.

    Attributes:
        task_id: the remote task; empty for a message without a task.
        context_id: the remote conversation.
        state: state of the task, or COMPLETED after a message.
        convert: function that converts parts of the remote agent to parts of contents.
    """

    task_id: str = ""
    context_id: str = ""
    state: int = TaskState.TASK_STATE_UNSPECIFIED
    convert: ToGenai = to_genai
    _artifacts: dict[str, list[Part]] = field(default_factory=dict)
    _message: list[Part] = field(default_factory=list)
    _progress: list[Part] = field(default_factory=list)
    _size: int = 0
    _items: int = 0
    _characters: int = 0

    @property
    def has_ended(self) -> bool:
        """Return True if the remote agent will send no more in this turn."""
        return self.state in ENDS

    @property
    def failure(self) -> str | None:
        """Code of the failure reported by the remote agent; None without a failure."""
        return FAILURES.get(self.state)

    @property
    def parts(self) -> list[Part]:
        """Parts of the answer: artifacts, then the last message; if both are empty, the texts of the progress."""
        parts: list[Part] = []
        for artifact in self._artifacts.values():
            parts += _as_paragraph(parts, _join_texts(artifact))
        # Some agents repeat the artifact's text in the last message.
        is_repeated = all(part.text for part in self._message) and _text_of(self._message) == _text_of(parts)
        if not is_repeated:
            parts += _as_paragraph(parts, _join_texts(self._message))
        return parts or _join_texts(self._progress)

    def add(self, item: StreamResponse) -> list[types.Part]:
        """Add the next item of a stream; return its texts, to show immediately.

        Raises:
            RemoteAgentError: the reply is too large.
        """
        self._check_size(item)
        match item.WhichOneof("payload"):
            case "task":
                self.add_task(item.task)
            case "message":
                self.context_id = item.message.context_id or self.context_id
                self.state = TaskState.TASK_STATE_COMPLETED
                self._message = self._check_parts(item.message.parts)
            case "status_update":
                update = item.status_update
                self._note_ids(update.task_id, update.context_id)
                return self._add_status(update.status)
            case "artifact_update":
                changed = item.artifact_update
                self._note_ids(changed.task_id, changed.context_id)
                return self._add_artifact(changed.artifact, is_appended=changed.append)
        return []

    def add_task(self, task: Task) -> None:
        """Replace the items so far with the state of a task."""
        self._note_ids(task.id, task.context_id)
        self._artifacts = {}
        for artifact in task.artifacts:
            self._artifacts[artifact.artifact_id] = self._check_parts(artifact.parts)
        self._add_status(task.status)
        # Some agents put the answer into the history only.
        if self.has_ended and not (self._artifacts or self._message):
            self._message = _latest_agent_parts(task.history)

    def forget_canceled_task(self) -> None:
        """Forget a canceled task, so the message is sent again as a new task."""
        # An earlier attempt at this invocation was interrupted, and canceled the task itself.
        if self.state == TaskState.TASK_STATE_CANCELED:
            self.task_id = ""
            self.state = TaskState.TASK_STATE_UNSPECIFIED
            self._artifacts = {}
            self._message = []
            self._progress = []

    def _note_ids(self, task_id: str, context_id: str) -> None:
        self.task_id = task_id or self.task_id
        self.context_id = context_id or self.context_id

    def _add_status(self, status: TaskStatus) -> list[types.Part]:
        self.state = status.state
        parts = self._check_parts(status.message.parts)
        if self.has_ended:
            self._message = parts
            return []
        self._progress += parts
        return [types.Part(text=part.text, thought=True) for part in parts if part.text]

    def _add_artifact(self, artifact: Artifact, *, is_appended: bool) -> list[types.Part]:
        parts = self._check_parts(artifact.parts)
        is_new = artifact.artifact_id not in self._artifacts
        if is_appended:
            self._artifacts.setdefault(artifact.artifact_id, []).extend(parts)
        else:
            self._artifacts[artifact.artifact_id] = parts
        shown: list[types.Part] = []
        if is_new or is_appended:  # Otherwise this is the whole, after its pieces.
            for part in parts:
                if part.text:
                    shown += converted_by(self.convert, part)
        return shown

    def _check_parts(self, parts: Iterable[Part]) -> list[Part]:
        """Return the parts of an item as a list.

        Raises:
            RemoteAgentError: the texts so far are too long.
        """
        kept = list(parts)
        self._characters += sum(len(part.text) for part in kept)
        if self._characters > MAX_TEXT_LENGTH:
            raise RemoteAgentError(TOO_LARGE, f"It sent more than {MAX_TEXT_LENGTH} characters.")
        return kept

    def _check_size(self, item: StreamResponse) -> None:
        self._items += 1
        self._size += item.ByteSize()
        if self._size > MAX_BYTES or self._items > MAX_ITEMS:
            raise RemoteAgentError(TOO_LARGE, f"It sent {self._items} items with {self._size} bytes.")


def _as_paragraph(before: list[Part], parts: list[Part]) -> list[Part]:
    """Return the parts; separate their first text from a text before it by an empty line."""
    if before and before[-1].text and parts and parts[0].text:
        return [Part(text=f"\n\n{parts[0].text}", metadata=parts[0].metadata), *parts[1:]]
    return parts


def _join_texts(parts: Iterable[Part]) -> list[Part]:
    """Join neighbouring texts with equal metadata: an artifact is streamed in pieces."""
    joined: list[Part] = []
    for kind, group in groupby(parts, _text_kind):
        pieces = list(group)
        text = "".join(piece.text for piece in pieces)
        joined += pieces if kind is None else [Part(text=text, metadata=pieces[0].metadata)]
    return joined


def _text_kind(part: Part) -> bytes | None:
    """Return the serialized metadata of a text; None for other parts."""
    if not part.text:
        return None
    metadata: bytes = part.metadata.SerializeToString(deterministic=True)
    return metadata


def _text_of(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts)


def _latest_agent_parts(history: Sequence[Message]) -> list[Part]:
    """Return the parts of the agent's last message in a task's history."""
    for message in reversed(history):
        if message.role == Role.ROLE_AGENT:
            return list(message.parts)
    return []
