"""World of one program: a person, sessions on in-memory services, scripted models, and a record of all that happens."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator
from typing import Any, TypedDict

from google.genai import types
from pydantic import ConfigDict, Field

from runtime.agents import BaseAgent
from runtime.apps import App
from runtime.artifacts import InMemoryArtifactService
from runtime.events import Event
from runtime.memory import InMemoryMemoryService
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService
from tests.side_by_side.outcome import Outcome

APP = "shop"
USER = "ada"

Turn = str | types.Part | list[types.Part] | LlmResponse | Exception
Message = str | types.Part | list[types.Part] | types.Content | None


class SessionKey(TypedDict):
    """Keyword arguments that identify a session."""

    app_name: str
    user_id: str
    session_id: str


class ScriptedModel(BaseLlm):
    """Answers each call with the next turn, and records the request. With `stream`, a text comes word by word."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    turns: list[Any] = Field(default_factory=list)
    outcome: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.outcome.add_request(llm_request, is_streamed=stream)
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        if stream and isinstance(turn, str):
            for word in re.split("(?<= )", turn):
                yield LlmResponse(content=content_of("model", word), partial=True)
        yield turn if isinstance(turn, LlmResponse) else LlmResponse(content=content_of("model", turn))


class World:
    """Runs agents for one person and records the outcome."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self.sessions = InMemorySessionService()
        self.artifacts = InMemoryArtifactService()
        self.memory = InMemoryMemoryService()

    def model(self, *turns: Turn) -> ScriptedModel:
        """Return a model that answers with these turns."""
        return ScriptedModel(model="scripted", turns=list(turns), outcome=self.outcome)

    def note(self, **values: Any) -> None:
        """Record what a callback or tool of the program has seen."""
        self.outcome.notes.append(values)

    def in_parallel(self) -> None:
        """Order events by branch and requests by agent: parallel agents take turns in any order."""
        self.outcome.is_ordered = False

    async def open(self, session_id: str = "s1", **state: Any) -> None:
        """Create a session; `play` creates a missing one by itself."""
        self.outcome.add_session(session_id)
        key = SessionKey(app_name=APP, user_id=USER, session_id=session_id)
        await self.sessions.create_session(**key, state=state)

    async def play(
        self, root: BaseAgent | App, *messages: Message, session_id: str = "s1", **options: Any
    ) -> list[Event]:
        """Send messages, each in an invocation of its own, and return all events. An exception is recorded."""
        if session_id not in self.outcome.session_ids:
            await self.open(session_id)
        runner = self.runner(root)
        events: list[Event] = []
        for message in messages:
            content = (
                message
                if message is None or isinstance(message, types.Content)
                else content_of("user", message)
            )
            if content is not None:
                self.outcome.add_message(content)
            run = runner.run_async(user_id=USER, session_id=session_id, new_message=content, **options)
            try:
                async with contextlib.aclosing(run):
                    async for event in run:
                        self.outcome.add_event(event)
                        events.append(event)
            except Exception as error:  # noqa: BLE001  # Any failure is part of the outcome.
                self.outcome.add_exception(error)
        return events

    async def save_file(self, filename: str, text: str) -> None:
        """Save a text as an artifact of the first session."""
        key = SessionKey(app_name=APP, user_id=USER, session_id="s1")
        await self.artifacts.save_artifact(**key, filename=filename, artifact=types.Part(text=text))

    def runner(self, root: BaseAgent | App) -> Runner:
        """Return a new Runner of an agent or app on the world's services."""
        app = root if isinstance(root, App) else App(name=APP, root_agent=root)
        self.outcome.add_names(app.root_agent)
        return Runner(
            app=app,
            session_service=self.sessions,
            artifact_service=self.artifacts,
            memory_service=self.memory,
        )

    async def finish(self) -> dict[str, Any]:
        """Return the normalised outcome, with what the services have stored."""
        for session_id in self.outcome.session_ids:
            key = SessionKey(app_name=APP, user_id=USER, session_id=session_id)
            session = await self.sessions.get_session(**key)
            if session is None:
                continue
            self.outcome.add_stored(session)
            for name in await self.artifacts.list_artifact_keys(**key):
                versions = await self.artifacts.list_versions(**key, filename=name)
                part = await self.artifacts.load_artifact(**key, filename=name)
                self.outcome.add_artifact(session_id, name, versions, part)
        return self.outcome.normalised()


def content_of(role: str, given: str | types.Part | list[types.Part]) -> types.Content:
    """Return a content of a text, a part or several parts."""
    if isinstance(given, str):
        return types.Content(role=role, parts=[types.Part(text=given)])
    return types.Content(role=role, parts=given if isinstance(given, list) else [given])


def call(name: str, call_id: str | None = None, /, **args: Any) -> types.Part:
    """Return a part with a function call."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args, id=call_id))


def answer(events: list[Event], name: str, response: dict[str, Any]) -> types.Part:
    """Return the function response to the latest call of the function in the events."""
    [*_, asked] = [c for event in events for c in event.get_function_calls() if c.name == name]
    return types.Part(function_response=types.FunctionResponse(id=asked.id, name=name, response=response))
