"""Invocations that are cut off after any of their events and go on in another process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime import types
from runtime.agents import BaseAgent, LlmAgent
from runtime.apps import App, ResumabilityConfig
from runtime.events import Event
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService, Session
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext, exit_loop
from tests.fakes import ScriptedModel, Turn, say
from tests.unit.runtime.conversation import outline

IDS = {"user_id": "ada", "session_id": "s1"}


class Process:
    """A process with agents and models of its own. Of what happened before it knows what the log says.

    Attributes:
        ran: the ids of the calls that its tools ran.
    """

    def __init__(self, play: Play, log: Sequence[Event], sessions: InMemorySessionService) -> None:
        self._play = play
        self._log = log
        self.sessions = sessions
        self.models: dict[str, ScriptedModel] = {}
        self.ran: list[str | None] = []
        config = ResumabilityConfig(is_resumable=True)
        app = App(name="shop", root_agent=play.tree(self), resumability_config=config)
        self.runner = Runner(app=app, session_service=sessions)

    def llm(self, name: str, *sub_agents: BaseAgent, **settings: Any) -> LlmAgent:
        """An agent whose model says the rest of its script: what the log does not have."""
        said = [event for event in self._log if event.author == name and is_model_event(event)]
        self.models[name] = ScriptedModel(turns=self._play.scripts[name][len(said) :])
        tools = [
            self.work,
            LongRunningFunctionTool(self.order),
            LongRunningFunctionTool(self.drop),
            exit_loop,
        ]
        return LlmAgent(
            name=name, model=self.models[name], tools=tools, sub_agents=list(sub_agents), **settings
        )

    async def work(self, tool_context: ToolContext) -> str:
        """Work, and write down that it was done."""
        self.ran.append(tool_context.function_call_id)
        tool_context.state[f"done_{tool_context.function_call_id}"] = True
        return "done"

    def order(self, tool_context: ToolContext) -> dict[str, str]:
        """Order something that comes later."""
        self.ran.append(tool_context.function_call_id)
        return {"status": "pending"}

    def drop(self, tool_context: ToolContext) -> None:
        """Order something that comes later, without a word."""
        self.ran.append(tool_context.function_call_id)

    async def send(self, message: types.Content) -> list[Event]:
        return [event async for event in self.runner.run_async(**IDS, new_message=message)]

    async def resume(self, invocation_id: str) -> list[Event]:
        return [event async for event in self.runner.run_async(**IDS, invocation_id=invocation_id)]

    async def session(self) -> Session:
        session = await self.sessions.get_session(app_name="shop", **IDS)
        assert session is not None
        return session

    def left_unsaid(self) -> dict[str, list[Any]]:
        return {name: model.turns for name, model in self.models.items() if model.turns}


@dataclass
class Play:
    """A tree of agents, what their models say, and what the person sends: a message, then answers to calls."""

    tree: Callable[[Process], BaseAgent]
    scripts: dict[str, list[Turn]]
    answers: list[types.Content] = field(default_factory=list)

    @property
    def messages(self) -> list[types.Content]:
        return [say("go"), *self.answers]

    async def process(self, log: Sequence[Event] = ()) -> Process:
        """A new process, whose session holds copies of the events."""
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="shop", **IDS)
        for event in log:
            await sessions.append_event(session, event.model_copy(deep=True))
        return Process(self, log, sessions)

    async def whole(self) -> Process:
        """Without any interruption."""
        process = await self.process()
        for message in self.messages:
            await process.send(message)
        return process

    async def cut_off_after(self, count: int, log: Sequence[Event]) -> Process:
        """The rest, in a new process that has the first `count` events of the log."""
        kept = log[:count]
        process = await self.process(kept)
        await process.resume(kept[0].invocation_id)
        for message in self.messages[sum(event.author == "user" for event in kept) :]:
            await process.send(message)
        return process


def answer(call_id: str, name: str = "order", **response: Any) -> types.Content:
    """The answer to a long-running call, from outside."""
    result = types.FunctionResponse(id=call_id, name=name, response=response or {"status": "delivered"})
    return types.Content(role="user", parts=[types.Part(function_response=result)])


def is_model_event(event: Event) -> bool:
    return event.content is not None and event.content.role == "model"


def story(events: Sequence[Event]) -> dict[str | None, list[str]]:
    """What happened on each branch, in order: what was said and done, and which places were recorded."""
    told: dict[str | None, list[str]] = defaultdict(list)
    for event, line in zip(events, outline(events), strict=True):
        told[event.branch].append(line + _place(event))
    return dict(told)


def answered(events: Sequence[Event]) -> set[str | None]:
    return {response.id for event in events for response in event.get_function_responses()}


def _place(event: Event) -> str:
    if event.actions.end_of_agent:
        return "end"
    return f"{event.actions.agent_state}" if event.actions.agent_state is not None else ""
