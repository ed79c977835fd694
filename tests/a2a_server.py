"""A2A server for tests, made with the reference server of the `a2a-sdk`, in the event loop of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

Script = Callable[["Turn"], Awaitable[None]]


@dataclass
class Turn:
    """One message to the scripted agent."""

    context: RequestContext
    updater: TaskUpdater
    queue: EventQueue

    @property
    def message(self) -> Message:
        assert self.context.message is not None
        return self.context.message

    async def begin(self) -> None:
        """Make the task known to the client, unless it goes on with a task."""
        if self.context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=self.updater.task_id, context_id=self.updater.context_id, status=status)
            await self.queue.enqueue_event(task)

    def words(self, text: str, *parts: Part) -> Message:
        return self.updater.new_agent_message([*([Part(text=text)] if text else []), *parts])


@dataclass
class ScriptedAgent(AgentExecutor):
    """Plays a script for each message; records what comes."""

    script: Script
    messages: list[Message] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[dict[str, str]] = field(default_factory=list)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None and context.task_id and context.context_id
        self.messages.append(context.message)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await self.script(Turn(context, updater, event_queue))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id and context.context_id
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        self.cancelled.set()


class _Server(uvicorn.Server):
    def __init__(self, app: ASGIApp) -> None:
        super().__init__(uvicorn.Config(app, log_level="error", lifespan="off"))
        self.is_ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_ready.set()


@asynccontextmanager
async def listening_app(app: ASGIApp, listening: socket.socket) -> AsyncGenerator[None, None]:
    """Serve an ASGI application on a socket until the end of the block."""
    server = _Server(app)
    task = asyncio.create_task(server.serve([listening]))
    await server.is_ready.wait()
    try:
        yield
    finally:
        server.should_exit = True
        server.force_exit = True
        await task


def free_socket() -> tuple[socket.socket, str]:
    """Return a socket that is bound to a free port of this machine, and its URL."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}"


def card_of(url: str, *, streaming: bool = True, **fields: Any) -> AgentCard:
    return AgentCard(
        name="oracle",
        description="Answers questions.",
        version="1",
        capabilities=AgentCapabilities(streaming=streaming),
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        **fields,
    )


@dataclass
class RunningAgent:
    """A scripted agent at an address."""

    url: str
    agent: ScriptedAgent
    card: AgentCard

    @property
    def card_url(self) -> str:
        return f"{self.url}/.well-known/agent-card.json"

    @property
    def messages(self) -> list[Message]:
        return self.agent.messages


@asynccontextmanager
async def remote_agent(script: Script, *, streaming: bool = True) -> AsyncGenerator[RunningAgent, None]:
    """Serve a scripted agent by A2A until the end of the block."""
    listening, url = free_socket()
    card = card_of(f"{url}/", streaming=streaming)
    agent = ScriptedAgent(script)
    handler = DefaultRequestHandler(agent, InMemoryTaskStore(), card)
    app = Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
        ]
    )
    async with listening_app(_recording(app, agent), listening):
        yield RunningAgent(url, agent, card)


def _recording(app: ASGIApp, agent: ScriptedAgent) -> ASGIApp:
    async def record(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers: Mapping[bytes, bytes] = dict(scope["headers"])
            agent.requests.append({name.decode(): value.decode() for name, value in headers.items()})
        await app(scope, receive, send)

    return record


def text_of(message: Message) -> str:
    assert message.role == Role.ROLE_USER
    return "\n".join(part.text for part in message.parts if part.text)
