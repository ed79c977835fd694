"""Run an agent in memory, for tests without a database."""

import asyncio
from dataclasses import dataclass
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.apps.app import App
from runtime.callbacks import close_each
from runtime.errors import AdkError
from runtime.events.event import Event
from runtime.runners import InMemoryRunner

USER = "tester"


@dataclass(frozen=True)
class _Conversation:
    runner: InMemoryRunner
    session_id: str


class AgentRunner:
    """Send messages to agents. Each agent or app has one session, so a second message continues the first."""

    def __init__(self, loop: asyncio.Runner) -> None:
        self._loop = loop
        self._conversations: dict[int, tuple[BaseAgent | App, _Conversation]] = {}

    def __call__(
        self, agent: BaseAgent | App, message: str | types.Content, *, state: dict[str, Any] | None = None
    ) -> list[Event]:
        """Send a message and return the events of the invocation, without partial events.

        Args:
            state: changes of the session's state before the agent runs.
        """
        return self._loop.run(self._send(agent, message, state))

    def state_of(self, agent: BaseAgent | App) -> dict[str, Any]:
        return self._loop.run(self._read_state(agent))

    async def close(self) -> None:
        """Close the toolsets and plugins of all agents that ran, even if some fail.

        Raises:
            AdkError: toolsets or plugins could not be closed; the message names their apps.
        """
        runners = [conversation.runner for _, conversation in self._conversations.values()]
        if failures := await close_each((repr(runner.app_name), runner.close) for runner in runners):
            raise AdkError(f"Apps failed in close: {'; '.join(failures)}")

    async def _send(
        self, agent: BaseAgent | App, message: str | types.Content, state: dict[str, Any] | None
    ) -> list[Event]:
        conversation = await self._open_conversation(agent)
        events = conversation.runner.run_async(
            user_id=USER,
            session_id=conversation.session_id,
            new_message=types.UserContent(message) if isinstance(message, str) else message,
            state_delta=state,
        )
        return [event async for event in events if not event.partial]

    async def _read_state(self, agent: BaseAgent | App) -> dict[str, Any]:
        conversation = await self._open_conversation(agent)
        session = await conversation.runner.session_service.get_session(
            app_name=conversation.runner.app_name, user_id=USER, session_id=conversation.session_id
        )
        return dict(session.state) if session else {}

    async def _open_conversation(self, agent: BaseAgent | App) -> _Conversation:
        known = self._conversations.get(id(agent))
        if known:
            return known[1]
        app = agent if isinstance(agent, App) else App(name=agent.name, root_agent=agent)
        runner = InMemoryRunner(app=app)
        session = await runner.session_service.create_session(app_name=app.name, user_id=USER)
        conversation = _Conversation(runner, session.id)
        # Keep the agent: Python reuses its `id` for another object once the agent is freed.
        self._conversations[id(agent)] = (agent, conversation)
        return conversation
