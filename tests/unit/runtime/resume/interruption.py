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
from runtime.events.calls import FRAMEWORK_CALLS
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService, Session
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext, exit_loop, get_user_choice
from tests.fakes import ScriptedModel, Turn, say
from tests.unit.runtime.conversation import outline

Message = Callable[[Sequence[Event]], types.Content]
"""What the person sends, given the log."""

IDS = {"user_id": "ada", "session_id": "s1"}
NOTE = {"note": "taken up again"}


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
            FunctionTool(self.pay, require_confirmation=True),
            get_user_choice,
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

    def pay(self, tool_context: ToolContext) -> str:
        """Pay, once it is confirmed."""
        self.ran.append(tool_context.function_call_id)
        return "paid"

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
    answers: list[Message] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        return [lambda log: say("go"), *self.answers]

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
            await process.send(message((await process.session()).events))
        return process

    async def cut_off_after(self, count: int, log: Sequence[Event], *, is_noted: bool = False) -> Process:
        """The rest, in a new process that has the first `count` events of the log.

        With `is_noted` one without content follows them, by which a site may note that it takes the invocation up.
        """
        kept = list(log[:count])
        note = Event(author=kept[-1].author, invocation_id=kept[0].invocation_id, custom_metadata=NOTE)
        process = await self.process([*kept, note] if is_noted else kept)
        await process.resume(kept[0].invocation_id)
        for message in self.messages[sum(event.author == "user" for event in kept) :]:
            await process.send(message((await process.session()).events))
        return process


def answer(call_id: str, name: str = "order") -> Message:
    """The answer to a long-running call, from outside."""
    return lambda log: _response(call_id, name, {"status": "delivered"})


def report(call_id: str, name: str = "order") -> Message:
    """What is known of a long-running call before its answer."""
    return lambda log: _response(call_id, name, {"status": "half of it is there"})


def confirm(log: Sequence[Event]) -> types.Content:
    """A yes to what was asked last."""
    request = next(c for e in reversed(log) for c in e.get_function_calls() if c.name in FRAMEWORK_CALLS)
    return _response(request.id, request.name, {"confirmed": True})


def is_model_event(event: Event) -> bool:
    if event.content is None or event.content.role != "model":
        return False
    return all(call.name not in FRAMEWORK_CALLS for call in event.get_function_calls())


def story(events: Sequence[Event]) -> dict[str | None, list[str]]:
    """What happened on each branch, in order: what was said and done, and which places were recorded."""
    told: dict[str | None, list[str]] = defaultdict(list)
    for event, line in zip(events, outline(events), strict=True):
        if event.custom_metadata != NOTE:
            told[event.branch].append(line + _place(event))
    return dict(told)


def answered(events: Sequence[Event]) -> set[str | None]:
    """The calls that have run: those that only wait for the person's yes have not."""
    return {
        response.id
        for event in events
        for response in event.get_function_responses()
        if response.id not in event.actions.requested_tool_confirmations
    }


def _response(call_id: str | None, name: str | None, given: dict[str, Any]) -> types.Content:
    response = types.FunctionResponse(id=call_id, name=name, response=given)
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def _place(event: Event) -> str:
    if event.actions.end_of_agent:
        return "end"
    return f"{event.actions.agent_state}" if event.actions.agent_state is not None else ""
