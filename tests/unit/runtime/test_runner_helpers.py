"""Shortcuts of the Runner for scripts: run_debug, created sessions, closing by `async with` (contract L9)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.errors import SessionNotFoundError
from runtime.plugins import BasePlugin
from runtime.runners import InMemoryRunner, Runner
from runtime.sessions import InMemorySessionService, Session
from tests.fakes import ScriptedModel, call, say


def price(item: str) -> str:
    """Look up a price."""
    return f"{item}: 20"


def clerk(*turns: object) -> LlmAgent:
    return LlmAgent(name="clerk", model=ScriptedModel(turns=list(turns)), tools=[price])


async def test_run_debug_prints_the_answers_and_goes_on_in_the_same_session(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Contract L9."""
    runner = InMemoryRunner(clerk(call("price", "c1", item="lamp"), "20 €.", "You are welcome."))
    events = await runner.run_debug(["How much is the lamp?", "Thanks"])
    assert capsys.readouterr().out == "clerk > 20 €.\nclerk > You are welcome.\n"
    assert [event.is_final_response() for event in events] == [False, False, True, True]
    session = await runner.session_service.get_session(
        app_name="InMemoryRunner", user_id="debug_user_id", session_id="debug_session_id"
    )
    assert session is not None and len(session.events) == 6


async def test_run_debug_prints_calls_on_request_and_nothing_when_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    turns = (call("price", "c1", item="lamp"), "20 €.")
    await InMemoryRunner(clerk(*turns)).run_debug("Lamp?", verbose=True)
    assert capsys.readouterr().out == (
        "clerk > [Calling tool: price({'item': 'lamp'})]\n"
        "clerk > [Tool result: {'result': 'lamp: 20'}]\n"
        "clerk > 20 €.\n"
    )
    await InMemoryRunner(clerk(*turns)).run_debug("Lamp?", quiet=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("creates", [True, False])
async def test_a_missing_session_is_created_on_request_only(creates: bool) -> None:
    runner = Runner(
        app_name="shop",
        agent=clerk("Hello."),
        session_service=InMemorySessionService(),
        auto_create_session=creates,
    )
    run = runner.run_async(user_id="ada", session_id="s-1", new_message=say("Hi"))
    if creates:
        assert [event.author async for event in run] == ["clerk"]
        return
    with pytest.raises(SessionNotFoundError, match=r"Session not found: .*'s-1'.*auto_create_session"):
        [event async for event in run]


async def test_only_a_message_creates_a_missing_session() -> None:
    sessions = InMemorySessionService()
    runner = Runner(
        app_name="shop", agent=clerk("Hello."), session_service=sessions, auto_create_session=True
    )
    with pytest.raises(SessionNotFoundError):
        await runner.rewind_async(user_id="ada", session_id="s-1", rewind_before_invocation_id="e-1")
    with pytest.raises(SessionNotFoundError):
        await runner.compact_async(user_id="ada", session_id="s-1")
    assert (await sessions.list_sessions(app_name="shop")).sessions == []


class OvertakenSessionService(InMemorySessionService):
    """Another process creates each session a moment earlier."""

    async def create_session(self, **kwargs: Any) -> Session:
        await super().create_session(**kwargs)
        return await super().create_session(**kwargs)


async def test_a_session_that_another_first_message_creates_meanwhile_is_used() -> None:
    runner = Runner(
        app_name="shop",
        agent=clerk("Hello."),
        session_service=OvertakenSessionService(),
        auto_create_session=True,
    )
    run = runner.run_async(user_id="ada", session_id="s-1", new_message=say("Hi"))
    assert [event.author async for event in run] == ["clerk"]


async def test_async_with_closes_the_plugins() -> None:
    closed: list[str] = []

    class Noting(BasePlugin):
        async def close(self) -> None:
            closed.append(self.name)

    async with InMemoryRunner(clerk(), plugins=[Noting("noting")]):
        assert closed == []
    assert closed == ["noting"]
