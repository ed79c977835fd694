"""Simulation of invocations that are interrupted after any event and resumed in another process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime import types
from runtime.agents import BaseAgent, LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.apps import App, ResumabilityConfig
from runtime.events import Event
from runtime.events.calls import FRAMEWORK_CALLS
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService, Session
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext, exit_loop, get_user_choice
from tests.fakes import ScriptedModel, Turn, call, say
from tests.unit.runtime.conversation import outline

Message = Callable[[Sequence[Event]], types.Content]
"""Next message of the person, given the log."""

IDS: dict[str, Any] = {"user_id": "ada", "session_id": "s1"}
NOTE = {"note": "taken up again"}


class Process:
    """A process with its own agents and models; it knows earlier events only from the session.

    Attributes:
        ran: Ids of the calls that its tools ran.
    """

    def __init__(self, scenario: Scenario, log: Sequence[Event], sessions: InMemorySessionService) -> None:
        self._scenario = scenario
        self._log = log
        self.sessions = sessions
        self.models: dict[str, ScriptedModel] = {}
        self.ran: list[str] = []
        config = ResumabilityConfig(is_resumable=True)
        app = App(name="shop", root_agent=scenario.tree(self), resumability_config=config)
        self.runner = Runner(app=app, session_service=sessions)

    def llm(self, name: str, *sub_agents: BaseAgent, **settings: Any) -> LlmAgent:
        """Return an LLM agent whose model has the turns of its script that are not in the session."""
        committed = [event for event in self._log if event.author == name and is_model_event(event)]
        self.models[name] = ScriptedModel(turns=list(self._scenario.scripts[name])[len(committed) :])
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
        """Work, and record the call id."""
        self.ran.append(_call_id(tool_context))
        tool_context.state[f"done_{_call_id(tool_context)}"] = True
        return "done"

    def order(self, tool_context: ToolContext) -> dict[str, str]:
        """Order something that comes later."""
        self.ran.append(_call_id(tool_context))
        return {"status": "pending"}

    def drop(self, tool_context: ToolContext) -> None:
        """Order something that comes later; return nothing."""
        self.ran.append(_call_id(tool_context))

    def pay(self, tool_context: ToolContext) -> str:
        """Pay; needs a confirmation."""
        self.ran.append(_call_id(tool_context))
        return "paid"

    async def send(self, message: types.Content) -> list[Event]:
        return [event async for event in self.runner.run_async(**IDS, new_message=message)]

    async def resume(self, invocation_id: str) -> list[Event]:
        return [event async for event in self.runner.run_async(**IDS, invocation_id=invocation_id)]

    async def session(self) -> Session:
        session = await self.sessions.get_session(app_name="shop", **IDS)
        assert session is not None
        return session

    def unused_turns(self) -> dict[str, list[Any]]:
        return {name: model.turns for name, model in self.models.items() if model.turns}


@dataclass
class Scenario:
    """Agents, their models' turns, and the messages of the person: a text, then answers to calls."""

    tree: Callable[[Process], BaseAgent]
    scripts: Mapping[str, Sequence[Turn]]
    answers: list[Message] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        return [lambda log: say("go"), *self.answers]

    async def process(self, log: Sequence[Event] = ()) -> Process:
        """Return a new process whose session holds copies of the events."""
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="shop", **IDS)
        for event in log:
            await sessions.append_event(session, event.model_copy(deep=True))
        return Process(self, log, sessions)

    async def uninterrupted(self) -> Process:
        """Run all messages without interruption."""
        process = await self.process()
        for message in self.messages:
            await process.send(message((await process.session()).events))
        return process

    async def resume_after(self, count: int, log: Sequence[Event], *, is_noted: bool = False) -> Process:
        """Resume in a new process whose session has the first `count` events.

        With `is_noted`, an event without content follows them, as when a site records that it resumes.
        """
        kept = list(log[:count])
        note = Event(author=kept[-1].author, invocation_id=kept[0].invocation_id, custom_metadata=NOTE)
        process = await self.process([*kept, note] if is_noted else kept)
        await process.resume(kept[0].invocation_id)
        for message in self.messages[sum(event.author == "user" for event in kept) :]:
            await process.send(message((await process.session()).events))
        return process


def answer(call_id: str, name: str = "order") -> Message:
    """Return a message with the response to a long-running call."""
    return lambda log: _response(call_id, name, {"status": "delivered"})


def report(call_id: str, name: str = "order") -> Message:
    """Return a message with a progress report on a long-running call."""
    return lambda log: _response(call_id, name, {"status": "half of it is there"})


def confirm(log: Sequence[Event]) -> types.Content:
    """Return a message that confirms the latest request."""
    request = next(
        call for event in reversed(log) for call in event.get_function_calls() if call.name in FRAMEWORK_CALLS
    )
    return _response(request.id, request.name, {"confirmed": True})


def transfer(name: str, call_id: str) -> types.Part:
    return call("transfer_to_agent", call_id, agent_name=name)


def bow(callback_context: CallbackContext) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text="a bow")])


def is_model_event(event: Event) -> bool:
    if event.content is None or event.content.role != "model":
        return False
    return all(call.name not in FRAMEWORK_CALLS for call in event.get_function_calls())


def lines_by_branch(events: Sequence[Event]) -> dict[str | None, list[str]]:
    """Return the contents and recorded states of each branch, in order."""
    lines: dict[str | None, list[str]] = defaultdict(list)
    for event, line in zip(events, outline(events), strict=True):
        if event.custom_metadata != NOTE:
            lines[event.branch].append(line + _recorded_state(event))
    return dict(lines)


def answered(events: Sequence[Event]) -> set[str]:
    """Return the ids of the calls that ran; calls that wait for a confirmation did not."""
    return {
        response.id
        for event in events
        for response in event.get_function_responses()
        if response.id and response.id not in event.actions.requested_tool_confirmations
    }


def _call_id(tool_context: ToolContext) -> str:
    assert tool_context.function_call_id is not None
    return tool_context.function_call_id


def _response(call_id: str | None, name: str | None, fields: dict[str, Any]) -> types.Content:
    response = types.FunctionResponse(id=call_id, name=name, response=fields)
    return types.Content(role="user", parts=[types.Part(function_response=response)])


def _recorded_state(event: Event) -> str:
    if event.actions.end_of_agent:
        return "end"
    return f"{event.actions.agent_state}" if event.actions.agent_state is not None else ""
