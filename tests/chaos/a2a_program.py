"""Program that talks to an agent by A2A: streams, follows a task again after a kill, and reads it when it rests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.types import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest, Task
from a2a.utils.errors import InternalError, UnsupportedOperationError

from sessions_app.base.client_ids import SCHEDULE
from tests.chaos.acts import Read
from tests.chaos.browser import Act, Browser
from tests.chaos.connections import BROKEN, REQUEST_SECONDS, TLS
from tests.chaos.conversation import Conversation
from tests.integration.contrib.a2a.talk import apply, message, state_of

AT_REST = ("completed", "failed", "canceled", "input_required", "auth_required")
ALIVE_SECONDS = 30.0
"""A stream sends a comment every 15 seconds."""
AWAY = "The database does not answer"


@dataclass
class A2aProgram(Browser):
    """A program in the place of a tab, with the key of its person. Its page has no log: it is told of tasks.

    Attributes:
        app: name of the app.
        streamed: the task of each message as the streams have told it, by the id of the message.
        read: the same tasks as `tasks/get` returns them in the end.
    """

    app: str = ""
    streamed: dict[str, Task] = field(default_factory=dict)
    read: dict[str, Task] = field(default_factory=dict)

    async def do(self, act: Act) -> None:
        """Send a message and follow its task until it rests; at the end, read all tasks anew."""
        if isinstance(act, Read):
            for client_id, task in self.streamed.items():
                while client_id not in self.read:
                    await self._talk(partial(self._read, client_id, task.id))
            return
        [frame] = act.frames(self.page)
        said = message(frame["text"], message_id=frame["id"], context_id=str(self.session_id))
        task = self.streamed[frame["id"]] = Task()
        while state_of(task) not in AT_REST:
            await self._talk(partial(_follow, SendMessageRequest(message=said), task))

    async def _read(self, client_id: str, task_id: str, client: Client) -> None:
        self.read[client_id] = await client.get_task(GetTaskRequest(id=task_id))

    async def _talk(self, request: Callable[[Client], Awaitable[None]]) -> None:
        """Make a request by A2A's reference client to one of the processes; it may end with a broken connection."""
        headers = {"authorization": f"Bearer {self.key}"}
        timeout = httpx.Timeout(REQUEST_SECONDS, read=ALIVE_SECONDS)
        address = f"http://{self.random.choice(self.sites)}/a2a/{self.app}"
        try:
            async with httpx.AsyncClient(headers=headers, timeout=timeout, verify=TLS) as http:
                await request(await create_client(address, ClientConfig(httpx_client=http)))
        except (*BROKEN, A2AClientError):
            await self._pause()
        except InternalError as error:
            if AWAY not in str(error):
                raise
            await self._pause()

    async def _pause(self) -> None:
        self.reconnects["A2aProgram"] += 1
        await asyncio.sleep(0.2)

    def check_tasks(self, conversation: Conversation) -> list[str]:
        """Check that each task was told as it is, and that together they have what the agents said, once."""
        problems = []
        for client_id, task in self.read.items():
            streamed = _words(self.streamed[client_id])
            if {name: streamed.get(name) for name in _words(task)} != _words(task):
                problems.append(f"the stream of {client_id} told {streamed}, the task has {_words(task)}")
            if state_of(task) not in AT_REST:
                problems.append(f"the task of {client_id} is {state_of(task)}")
        told = [name for task in self.read.values() for name in _words(task)]
        said = _said(conversation)
        if sorted(told) != sorted(said):
            problems.append(f"the tasks tell {len(told)} of {len(said)} texts of agents, or others")
        return problems


async def _follow(request: SendMessageRequest, task: Task, client: Client) -> None:
    """Apply the news of the task, which the message begins if it is not known yet."""
    if not task.id:
        stream = client.send_message(request)
    else:
        stream = client.subscribe(SubscribeToTaskRequest(id=task.id))
    try:
        async for item in stream:
            apply(task, item)
    except UnsupportedOperationError:  # It has ended meanwhile.
        task.CopyFrom(await client.get_task(GetTaskRequest(id=task.id)))


def _words(task: Task) -> dict[str, str]:
    """Return the texts of the task by the ids of their events."""
    texts = {
        one.artifact_id: "".join(part.text for part in one.parts if part.HasField("text"))
        for one in task.artifacts
    }
    return {name: text for name, text in texts.items() if text}


def _said(conversation: Conversation) -> list[str]:
    """Return the ids of the events in which agents said something, apart from runs of scheduled tasks."""
    scheduled = {row.invocation_id for row in conversation.invocations if row.client_id.startswith(SCHEDULE)}
    return [
        event.id
        for event in conversation.events
        if event.author != "user" and event.invocation_id not in scheduled and event.text()
    ]
