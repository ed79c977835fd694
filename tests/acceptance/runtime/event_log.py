"""Agents, services and helpers that record the course of an invocation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, TypedDict

from runtime.agents import BaseAgent, InvocationContext
from runtime.events import Event, EventActions
from runtime.models import LlmRequest, LlmResponse
from runtime.run_config import RunConfig, StreamingMode
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService, Session
from tests.fakes import ScriptedModel, say, text_content

STREAMING = RunConfig(streaming_mode=StreamingMode.SSE)


class RecordingSessionService(InMemorySessionService):
    """Records its commits in `log`, and refuses to store an event with the text `refused`."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log
        self.refused = ""

    async def _store(self, session: Session, event: Event) -> None:
        if self.refused and event.text() == self.refused:
            raise ConnectionError("the store is away")
        await super()._store(session, event)
        self.log.append(f"commit {event.text()}")


class Steps(BaseAgent):
    """Yields two texts and records the session after each of them."""

    log: Any  # the test's list; pydantic would copy a field declared as a list
    delta: dict[str, Any] = {}

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        try:
            for text in ("one", "two"):
                actions = EventActions(
                    state_delta={f"{key}_{text}": value for key, value in self.delta.items()}
                )
                event = Event(author=self.name, content=text_content(text), actions=actions)
                yield event
                is_last = ctx.session.events[-1] is event or ctx.session.events[-1].id == event.id
                self.log.append(f"after {text}: {is_last} {sorted(ctx.session.state)}")
        finally:
            self.log.append("closed")


class EndlessModel(ScriptedModel):
    """Streams partial responses without end, and records when it is closed."""

    log: Any  # the test's list; pydantic would copy a field declared as a list

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        try:
            while True:
                yield LlmResponse(content=text_content("drop "), partial=True)
                await asyncio.sleep(0)
        finally:
            self.log.append("model closed")


class SessionIds(TypedDict):
    user_id: str
    session_id: str


def step() -> str:
    """Take a step."""
    return "taken"


async def create_session(runner: Runner) -> SessionIds:
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="ada")
    return SessionIds(user_id="ada", session_id=session.id)


async def load_session(runner: Runner, ids: SessionIds) -> Session:
    found = await runner.session_service.get_session(app_name=runner.app_name, **ids)
    assert found is not None
    return found


async def run(runner: Runner, ids: SessionIds, message: str) -> list[Event]:
    return [event async for event in runner.run_async(**ids, new_message=say(message))]


def ends_with_message(request: LlmRequest) -> bool:
    """True if the last content is a person's message."""
    return not any(part.function_response for part in request.contents[-1].parts or [])
