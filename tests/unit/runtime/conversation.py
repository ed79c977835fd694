"""Conversation with an agent on in-memory services, for tests that assert on events and requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.events.event import Event
from runtime.models.llm_request import LlmRequest
from runtime.plugins.base_plugin import BasePlugin
from runtime.run_config import RunConfig
from runtime.runners import InMemoryRunner
from runtime.sessions.session import Session
from tests.fakes import ScriptedModel, say


class Conversation:
    def __init__(
        self, agent: BaseAgent, *, plugins: Iterable[BasePlugin] = (), state: dict[str, Any] | None = None
    ) -> None:
        self.runner = InMemoryRunner(agent, app_name="shop", plugins=plugins)
        self._state = state
        self._session_id: str | None = None

    async def say(
        self,
        message: str | types.Content,
        run_config: RunConfig | None = None,
        *,
        invocation_id: str | None = None,
    ) -> list[Event]:
        """Send a message and return the agent's events, partial ones included."""
        events = self.runner.run_async(
            user_id="ada",
            session_id=await self._id(),
            new_message=say(message) if isinstance(message, str) else message,
            run_config=run_config,
            invocation_id=invocation_id,
        )
        return [event async for event in events]

    async def save_file(self, filename: str, text: str) -> None:
        """Save a text artifact of the session."""
        session = await self.session()
        assert self.runner.artifact_service is not None
        await self.runner.artifact_service.save_artifact(
            app_name=session.app_name,
            user_id=session.user_id,
            session_id=session.id,
            filename=filename,
            artifact=types.Part(text=text),
        )

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
    """Return one line per event: author, then text, call, response or `!` and the error code."""
    return [f"{event.author}: {_part_text(event)}" for event in events]


def requests_to(agent: LlmAgent) -> list[LlmRequest]:
    """Return the requests that the agent's scripted model received."""
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.requests


def response_of(event: Event) -> dict[str, Any]:
    """Return the response of the event's only function response."""
    [response] = event.get_function_responses()
    assert response.response is not None
    return response.response


def _part_text(event: Event) -> str:
    calls = [f"{call.name}()" for call in event.get_function_calls()]
    answers = [f"={answer.name}" for answer in event.get_function_responses()]
    failure = [f"!{event.error_code}"] if event.error_code and not event.content else []
    return " ".join([*calls, *answers, *([event.text()] if event.text() else []), *failure])


def answer_to(event: Event, response: dict[str, Any]) -> types.Content:
    """Return the person's answer to the only call of an event."""
    [call] = event.get_function_calls()
    part = types.FunctionResponse(id=call.id, name=call.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=part)])
