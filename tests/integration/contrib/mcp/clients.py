"""The SDK's own client of MCP, with a key of a person; and the extension for tasks, which the SDK leaves to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client import ClaimContext, ClientExtension, ResultClaim, advertise
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult, InputResponses, Request, RequestParams, Result
from pydantic import ConfigDict

TASKS = "io.modelcontextprotocol/tasks"
HANDLE_ONLY = advertise(TASKS)
"""Extension of a client that wants tasks and polls them itself, by `send`."""


class Task(Result):
    """A task: a claimed result of a call, and the result of `tasks/get`."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    status_message: str | None = None


class Answer(Result):
    """Any result of a request about a task."""

    model_config = ConfigDict(extra="allow")


class TaskParams(RequestParams):
    task_id: str
    input_responses: InputResponses | None = None


class TaskRequest(Request[TaskParams, str]):
    name_param = "taskId"


async def send(session: ClientSession, method: str, task_id: str, **params: Any) -> dict[str, Any]:
    """Send a request about a task; return its result."""
    request = TaskRequest(method=method, params=TaskParams(task_id=task_id, **params))
    got = await session.send_request(request, Answer)
    return got.model_dump(mode="json", by_alias=True, exclude_none=True)


async def until(session: ClientSession, task_id: str, *states: str) -> dict[str, Any]:
    """Poll a task until it has one of the states."""
    while True:
        task = await send(session, "tasks/get", task_id)
        if task["status"] in states:
            return task
        await asyncio.sleep(0.05)


class Tasks(ClientExtension):
    """Waits for the result of each task, and answers its questions with yes."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Task, resolve=self.resolve)]

    async def resolve(self, task: Task, context: ClaimContext) -> CallToolResult:
        session = context.session
        answered: set[str] = set()
        while True:
            got = await until(session, task.task_id, "completed", "cancelled", "input_required")
            if got["status"] == "completed":
                return CallToolResult.model_validate(got["result"], by_name=False)
            assert got["status"] == "input_required"
            new = set(got["inputRequests"]) - answered
            answered |= new
            if new:
                yes = ElicitResult(action="accept", content={"answer": True})
                await send(session, "tasks/update", task.task_id, input_responses=dict.fromkeys(new, yes))


@asynccontextmanager
async def client_with_key(url: str, key: str, **options: Any) -> AsyncGenerator[Client, None]:
    """The SDK's client of the MCP server at a URL."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield client


def texts_of(result: CallToolResult) -> list[str]:
    """Return the texts of a result, without its last, which names the session."""
    texts = [block.text for block in result.content if block.type == "text"]
    return texts if result.is_error and not texts[-1].startswith("session_id: ") else texts[:-1]


def session_of(result: CallToolResult) -> str:
    [text] = [block.text for block in result.content if block.type == "text" and "session_id" in block.text]
    return text.removeprefix("session_id: ")
