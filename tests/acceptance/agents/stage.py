"""A harness for the agents of this folder: scripted models, and services that survive a simulated restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime import types
from runtime.agents import BaseAgent, LlmAgent
from runtime.apps import App
from runtime.artifacts import InMemoryArtifactService
from runtime.events import Event
from runtime.memory import InMemoryMemoryService
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService, Session
from runtime.tools import AgentTool
from tests.fakes import ScriptedModel, say

USER = "ada"


class Stage:
    """Runs an agent with one scripted model for each LLM agent of the tree, in-memory services and one user.

    `new_process` replaces the Runner and keeps the services, like a restart of the process.
    """

    def __init__(
        self, root_agent: BaseAgent | None = None, *, app: App | None = None, **scripts: Any
    ) -> None:
        self.app = app or App(name="stage", root_agent=root_agent)
        self.models = {name: ScriptedModel(turns=list(turns)) for name, turns in scripts.items()}
        for agent in tree(self.app.root_agent):
            if isinstance(agent, LlmAgent):
                agent.model = self.models.setdefault(agent.name, ScriptedModel())
        self.sessions = InMemorySessionService()
        self.artifacts = InMemoryArtifactService()
        self.memory = InMemoryMemoryService()
        self.new_process()

    def new_process(self) -> None:
        self.runner = Runner(
            app=self.app,
            session_service=self.sessions,
            artifact_service=self.artifacts,
            memory_service=self.memory,
        )

    async def open(self, session_id: str = "s1", **state: Any) -> str:
        session = await self.sessions.create_session(
            app_name=self.app.name, user_id=USER, session_id=session_id, state=state
        )
        return session.id

    async def say(self, message: str | types.Part, session_id: str = "s1") -> list[Event]:
        """Run one invocation with a text or a function response and return its events."""
        content = say(message) if isinstance(message, str) else types.Content(role="user", parts=[message])
        run = self.runner.run_async(user_id=USER, session_id=session_id, new_message=content)
        return [event async for event in run]

    async def stored(self, session_id: str = "s1") -> Session:
        session = await self.sessions.get_session(app_name=self.app.name, user_id=USER, session_id=session_id)
        assert session is not None
        return session

    def instruction(self, agent_name: str, request: int = -1) -> str:
        """Return the system instruction of the agent's request."""
        return str(self.models[agent_name].requests[request].config.system_instruction)

    def contents(self, agent_name: str, request: int = -1) -> list[str]:
        """Return all texts in the contents of the agent's request."""
        contents = self.models[agent_name].requests[request].contents
        return [part.text for content in contents for part in content.parts or [] if part.text]


def tree(agent: BaseAgent) -> Iterator[BaseAgent]:
    """Yield the agent, its descendants, and those that are used as tools."""
    yield agent
    tools = agent.tools if isinstance(agent, LlmAgent) else []
    used = [tool.agent for tool in tools if isinstance(tool, AgentTool)]
    for below in [*agent.sub_agents, *used]:
        assert isinstance(below, BaseAgent)
        yield from tree(below)


def answer(call: types.FunctionCall, **response: Any) -> types.Part:
    """Return the function response to a long-running call, from outside."""
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))


def changes(events: list[Event]) -> dict[str, Any]:
    """Return all state changes of the events; later ones win."""
    return {key: value for event in events for key, value in event.actions.state_delta.items()}
