"""Contract L2, L7, S7: a session has one writer at a time; nested runs in the same session are refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, ParallelAgent
from runtime.errors import NestedRunError, PluginError
from runtime.events import Event
from runtime.plugins import BasePlugin
from runtime.runners import InMemoryRunner
from runtime.sessions import in_memory_session_service
from runtime.tools import AgentTool
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.conversation import outline

ADA: dict[str, Any] = {"user_id": "ada", "session_id": "s"}


class Nesting:
    """Runs another invocation from within one, in the same session or in another."""

    def __init__(self) -> None:
        self.runner = InMemoryRunner(LlmAgent(name="unused"))
        self.session_id = "s"

    async def run(self) -> list[Event]:
        ids = {**ADA, "session_id": self.session_id}
        return [event async for event in self.runner.run_async(**ids, new_message=say("inner"))]

    async def tool(self) -> str:
        """Run another invocation."""
        return "; ".join(outline(await self.run()))

    async def callback(self, **_: Any) -> None:
        await self.run()


class NestingAgent(BaseAgent):
    nesting: Any

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for event in await self.nesting.run():
            yield event


class NestingPlugin(BasePlugin):
    nesting: Nesting

    async def on_user_message_callback(self, **_: Any) -> None:
        await self.nesting.run()


def answering(*turns: Any) -> ScriptedModel:
    return ScriptedModel(turns=list(turns))


def nesting_runner(where: str, nesting: Nesting) -> InMemoryRunner:
    """Return a runner in which the given part of an invocation runs another invocation."""
    tool = call("tool")
    caller = LlmAgent(name="caller", model=answering(tool, "in", "out"), tools=[nesting.tool])
    plugin = NestingPlugin("nesting")
    plugin.nesting = nesting
    places: dict[str, BaseAgent] = {
        "tool": caller,
        "callback": LlmAgent(name="a", model=answering("x"), before_model_callback=nesting.callback),
        "agent": NestingAgent(name="a", nesting=nesting),
        "parallel agent": ParallelAgent(name="both", sub_agents=[NestingAgent(name="a", nesting=nesting)]),
        "tool of a tool": LlmAgent(
            name="a", model=answering(call("caller", request="x")), tools=[AgentTool(caller)]
        ),
        "plugin": LlmAgent(name="a", model=answering("x")),
    }
    return InMemoryRunner(places[where], plugins=[plugin] if where == "plugin" else [])


async def with_sessions(runner: InMemoryRunner) -> InMemoryRunner:
    for session_id in ("s", "other"):
        await runner.session_service.create_session(
            app_name=runner.app_name, user_id="ada", session_id=session_id
        )
    return runner


async def run(runner: InMemoryRunner, text: str = "go") -> list[Event]:
    return [event async for event in runner.run_async(**ADA, new_message=say(text))]


@pytest.mark.parametrize("where", ["tool", "callback", "agent", "parallel agent", "tool of a tool", "plugin"])
async def test_an_invocation_cannot_run_another_one_in_its_session(where: str) -> None:
    nesting = Nesting()
    nesting.runner = await with_sessions(nesting_runner(where, nesting))
    async with asyncio.timeout(10):
        with pytest.raises((NestedRunError, PluginError), match=r"'s'.*AgentTool"):
            await run(nesting.runner)


async def test_an_invocation_cannot_rewind_its_session() -> None:
    """Contract R3."""
    runner = InMemoryRunner(LlmAgent(name="a", model=answering("x")))

    async def rewind(**_: Any) -> None:
        await runner.rewind_async(**ADA, rewind_before_invocation_id="e-1")

    runner.agent.before_agent_callback = rewind
    await with_sessions(runner)
    async with asyncio.timeout(10):
        with pytest.raises(NestedRunError):
            await run(runner)


async def test_an_invocation_may_run_another_one_in_another_session() -> None:
    nesting = Nesting()
    agent = LlmAgent(
        name="caller", model=answering(call("tool"), "inner answer", "end"), tools=[nesting.tool]
    )
    nesting.runner, nesting.session_id = await with_sessions(InMemoryRunner(agent)), "other"
    events = await run(nesting.runner)
    assert outline(events) == ["caller: tool()", "caller: =tool", "caller: end"]
    assert events[1].get_function_responses()[0].response == {"result": "caller: inner answer"}


async def test_a_background_task_of_a_tool_may_run_an_invocation_afterwards() -> None:
    """For example a task that polls for the result of a long-running call."""
    nesting = Nesting()
    started: list[asyncio.Task[list[Event]]] = []

    async def start() -> str:
        """Start a task."""
        started.append(asyncio.create_task(nesting.run()))
        for _ in range(3):
            await asyncio.sleep(0)
        return "started"

    agent = LlmAgent(name="a", model=answering(call("start"), "first", "second"), tools=[start])
    nesting.runner = await with_sessions(InMemoryRunner(agent))
    assert outline(await run(nesting.runner))[-1] == "a: first"
    assert outline(await started[0]) == ["a: second"]


async def test_a_warning_names_the_invocation_that_others_wait_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract L7: a generator that was left by `break` and is still referenced blocks its session."""
    monkeypatch.setattr(in_memory_session_service, "WRITER_WARNING_SECONDS", 0)
    caplog.set_level(logging.WARNING)
    runner = await with_sessions(InMemoryRunner(LlmAgent(name="a", model=answering("one", "two"))))
    abandoned = runner.run_async(**ADA, new_message=say("first"), invocation_id="e-left")
    async for _ in abandoned:
        break
    second = asyncio.create_task(run(runner, "second"))
    async with asyncio.timeout(10):
        while not caplog.messages:
            await asyncio.sleep(0)
        assert "e-left has not ended" in caplog.text and "'s'" in caplog.text and "aclosing" in caplog.text
        await abandoned.aclose()
        assert outline(await second) == ["a: two"]


async def test_no_warning_is_logged_for_a_short_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    runner = await with_sessions(InMemoryRunner(LlmAgent(name="a", model=answering("one", "two"))))
    async with aclosing(runner.run_async(**ADA, new_message=say("first"))) as events:
        await anext(events)
        second = asyncio.create_task(run(runner, "second"))
        await asyncio.sleep(0)
    assert outline(await second) == ["a: two"]
    assert caplog.messages == []
