"""Messages to an agent of the site, and what came of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from a2a.client import Client
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse, Task, TaskState


def message(*parts: Part | str, **fields: Any) -> Message:
    given = [Part(text=part) if isinstance(part, str) else part for part in parts]
    return Message(**{"message_id": str(uuid4()), "role": Role.ROLE_USER, "parts": given, **fields})


async def items(client: Client, said: Message) -> list[StreamResponse]:
    return [item async for item in client.send_message(SendMessageRequest(message=said))]


async def say(client: Client, said: Message | str) -> Task:
    """Send a message; return the task with all that the stream told of it."""
    task = Task()
    async for item in client.send_message(
        SendMessageRequest(message=message(said) if isinstance(said, str) else said)
    ):
        apply(task, item)
    return task


async def apply_all(stream: AsyncIterator[StreamResponse]) -> Task:
    task = Task()
    async for item in stream:
        apply(task, item)
    return task


def apply(task: Task, item: StreamResponse) -> None:
    """Change the task as a client does."""
    match item.WhichOneof("payload"):
        case "task":
            task.CopyFrom(item.task)
        case "status_update":
            task.status.CopyFrom(item.status_update.status)
        case "artifact_update":
            update = item.artifact_update
            known = next(
                (one for one in task.artifacts if one.artifact_id == update.artifact.artifact_id), None
            )
            if known is None:
                task.artifacts.append(update.artifact)
            elif update.append:
                known.parts.extend(update.artifact.parts)
            else:
                known.CopyFrom(update.artifact)


def state_of(task: Task) -> str:
    name: str = TaskState.Name(task.status.state)
    return name.removeprefix("TASK_STATE_").lower()


def text_of(task: Task) -> str:
    return "\n".join("".join(part.text for part in artifact.parts) for artifact in task.artifacts)


def question_of(task: Task) -> str:
    return "".join(part.text for part in task.status.message.parts)
