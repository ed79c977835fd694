"""Chat of a person with an agent on the in-memory runner, for tests of confirmations and credentials."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from runtime import types
from runtime.agents import BaseAgent
from runtime.apps import App, ResumabilityConfig
from runtime.events import Event
from runtime.runners import InMemoryRunner
from runtime.sessions import Session
from tests.fakes import say


def response(name: str, call_id: str | None, given: dict[str, Any]) -> types.Part:
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response=given))


def requests(events: list[Event], name: str = "adk_request_confirmation") -> list[types.FunctionCall]:
    return [call for event in events for call in event.get_function_calls() if call.name == name]


def answers(events: list[Event]) -> list[tuple[str | None, dict[str, Any] | None]]:
    """Return the call id and response of each function response part."""
    return [(r.id, r.response) for event in events for r in event.get_function_responses()]


def texts(events: list[Event]) -> list[str]:
    return [event.text() for event in events if event.text()]


@dataclass
class Chat:
    runner: InMemoryRunner
    session: Session

    @classmethod
    async def with_agent(cls, agent: BaseAgent, *, resumable: bool = False) -> Chat:
        config = ResumabilityConfig(is_resumable=True) if resumable else None
        app = App(name="shop", root_agent=agent, resumability_config=config)
        runner = InMemoryRunner(app=app)
        session = await runner.session_service.create_session(app_name="shop", user_id="ada")
        return cls(runner, session)

    async def send(self, *message: str | types.Part) -> list[Event]:
        parts = [
            part for item in message for part in (say(item).parts if isinstance(item, str) else [item]) or []
        ]
        content = types.Content(role="user", parts=parts)
        run = self.runner.run_async(user_id="ada", session_id=self.session.id, new_message=content)
        return [event async for event in run]

    async def confirm(self, *asked: types.FunctionCall, yes: bool = True, payload: Any = None) -> list[Event]:
        given = {"confirmed": yes} if payload is None else {"confirmed": yes, "payload": payload}
        return await self.send(*(response("adk_request_confirmation", call.id, given) for call in asked))

    async def stored(self) -> Session:
        session = await self.runner.session_service.get_session(
            app_name="shop", user_id="ada", session_id=self.session.id
        )
        assert session is not None
        return session

    async def log_text(self) -> str:
        """Return the session as JSON text."""
        return json.dumps((await self.stored()).model_dump(mode="json"))
