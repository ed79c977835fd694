"""LoopAgent: rounds of sub-agents until one escalates or the limit is reached (contract A5, Q9)."""

from __future__ import annotations

from typing import Any

from runtime import types
from runtime.agents import LlmAgent, LoopAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.tools import ToolContext, exit_loop
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation, outline


def agent(name: str, *turns: Any, **settings: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), tools=[exit_loop, give_up], **settings)


def give_up(tool_context: ToolContext) -> str:
    """Escalate."""
    tool_context.actions.escalate = True
    return "given up"


async def test_the_loop_ends_after_max_iterations() -> None:
    loop = LoopAgent(name="loop", max_iterations=3, sub_agents=[agent("a", *"123"), agent("b", *"456")])
    assert outline(await Conversation(loop).say("go")) == [
        "a: 1", "b: 4", "a: 2", "b: 5", "a: 3", "b: 6",
    ]  # fmt: skip


async def test_a_loop_without_sub_agents_ends() -> None:
    assert await Conversation(LoopAgent(name="loop")).say("go") == []


async def test_after_exit_loop_neither_the_model_nor_later_sub_agents_run() -> None:
    """Contract Q9."""
    loop = LoopAgent(
        name="loop",
        sub_agents=[agent("a", "one", "two"), agent("b", "on", call("exit_loop")), agent("c", "c")],
    )
    assert outline(await Conversation(loop).say("go")) == [
        "a: one", "b: on", "c: c", "a: two", "b: exit_loop()", "b: =exit_loop",
    ]  # fmt: skip


async def test_the_sub_agent_that_escalates_finishes_first() -> None:
    """Contract Q9."""
    loop = LoopAgent(name="loop", sub_agents=[agent("a", call("give_up"), "my last words"), agent("b")])
    assert outline(await Conversation(loop).say("go")) == ["a: give_up()", "a: =give_up", "a: my last words"]


async def test_a_sequence_that_escalates_finishes_first() -> None:
    """Contract Q9."""
    sequence = SequentialAgent(name="line", sub_agents=[agent("a", call("exit_loop")), agent("b", "b says")])
    loop = LoopAgent(name="loop", sub_agents=[sequence, agent("c")])
    assert outline(await Conversation(loop).say("go")) == ["a: exit_loop()", "a: =exit_loop", "b: b says"]


async def test_a_sequence_continues_after_the_loop() -> None:
    loop = LoopAgent(name="loop", sub_agents=[agent("a", call("exit_loop"))])
    sequence = SequentialAgent(name="line", sub_agents=[loop, agent("z", "z says")])
    assert outline(await Conversation(sequence).say("go"))[-1] == "z: z says"


async def test_a_callback_may_escalate() -> None:
    """Actions of a callback are committed with its event (contract C3)."""

    def enough(callback_context: CallbackContext) -> types.Content | None:
        callback_context.actions.escalate = True
        return types.Content(role="model", parts=[types.Part(text="enough")])

    loop = LoopAgent(name="loop", sub_agents=[agent("a", "one", after_agent_callback=enough)])
    assert outline(await Conversation(loop).say("go")) == ["a: one", "a: enough"]
