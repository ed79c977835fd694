"""State changes committed with a resume (contract L2, R1)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.apps import App, ResumabilityConfig
from runtime.events import Event
from runtime.runners import InMemoryRunner
from runtime.sessions import Session
from runtime.tools import LongRunningFunctionTool
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.conversation import outline

ADA: dict[str, Any] = {"user_id": "ada", "session_id": "s", "invocation_id": "e-1"}


class Interrupted:
    """Agent whose model or process fails once."""

    def __init__(self, *turns: Any, tools: tuple[Any, ...] = ()) -> None:
        self.model = ScriptedModel(turns=list(turns))
        agent = LlmAgent(name="clerk", model=self.model, tools=list(tools), instruction="Weight: {kg?}.")
        config = ResumabilityConfig(is_resumable=True)
        self.runner = InMemoryRunner(app=App(name="shop", root_agent=agent, resumability_config=config))

    async def begin(self) -> None:
        await self.runner.session_service.create_session(app_name="shop", user_id="ada", session_id="s")
        with pytest.raises(ConnectionError):
            async for _ in self.runner.run_async(**ADA, new_message=say("go")):
                pass

    async def resume(self, **delta: Any) -> list[Event]:
        return [event async for event in self.runner.run_async(**ADA, state_delta=delta)]

    async def session(self) -> Session:
        session = await self.runner.session_service.get_session(
            app_name="shop", user_id="ada", session_id="s"
        )
        assert session is not None
        return session


async def test_state_changes_are_committed_before_the_agent_continues() -> None:
    process = Interrupted(ConnectionError("away"), "ready")
    await process.begin()
    assert outline(await process.resume(**{"kg": 3, "user:unit": "kg"})) == ["clerk: ready"]
    assert "Weight: 3." in str(process.model.requests[-1].config.system_instruction)
    session = await process.session()
    assert session.state == {"kg": 3, "user:unit": "kg"}
    assert [(event.author, event.actions.state_delta) for event in session.events] == [
        ("user", {}),
        ("clerk", {}),
        ("user", {"kg": 3, "user:unit": "kg"}),
        ("clerk", {}),
    ]
    assert {event.invocation_id for event in session.events} == {"e-1"}


async def test_state_changes_do_not_prove_that_a_call_ran() -> None:
    """A long-running call interrupted before it ran is run (contract T5)."""
    ran: list[int] = []

    def start() -> None:
        """Start."""
        ran.append(1)
        if len(ran) == 1:
            raise ConnectionError("away")

    process = Interrupted(call("start"), tools=(LongRunningFunctionTool(start),))
    await process.begin()
    assert await process.resume(kg=3) == []
    assert len(ran) == 2
    assert len(process.model.requests) == 1
