"""A conversation with an agent on the in-memory services, for tests whose assertion is events and requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.events.event import Event
from runtime.plugins.base_plugin import BasePlugin
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from runtime.sessions.session import Session
from tests.fakes import say


class Conversation:
    def __init__(
        self, agent: BaseAgent, *, plugins: Iterable[BasePlugin] = (), state: dict[str, Any] | None = None
    ) -> None:
        self.runner = InMemoryRunner(agent, app_name="shop", plugins=plugins)
        self._state = state
        self._session_id: str | None = None

    async def say(self, message: str | types.Content, run_config: RunConfig | None = None) -> list[Event]:
        """What the agent answers, partial events included."""
        events = self.runner.run_async(
            user_id="ada",
            session_id=await self._id(),
            new_message=say(message) if isinstance(message, str) else message,
            run_config=run_config,
        )
        return [event async for event in events]

    async def session(self) -> Session:
        session = await self.runner.session_service.get_session(
            app_name="shop", user_id="ada", session_id=await self._id()
        )
        assert session is not None
        return session

    async def _id(self) -> str:
        if self._session_id is None:
            session = await self.runner.session_service.create_session(
                app_name="shop", user_id="ada", state=self._state
            )
            self._session_id = session.id
        return self._session_id


def outline(events: Iterable[Event]) -> list[str]:
    """One line an event: who, and what was said, called or answered."""
    return [f"{event.author}: {_said(event)}" for event in events]


def _said(event: Event) -> str:
    calls = [f"{call.name}()" for call in event.get_function_calls()]
    answers = [f"={answer.name}" for answer in event.get_function_responses()]
    return " ".join([*calls, *answers, *([event.text()] if event.text() else [])])
