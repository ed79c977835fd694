"""States that workflow agents record in resumable apps, and the order of a sequence (contract A5, Q8, R1)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.apps import App, ResumabilityConfig
from runtime.events import Event
from runtime.runners import InMemoryRunner
from runtime.tools import LongRunningFunctionTool
from tests.fakes import ScriptedModel, call, say
from tests.unit.runtime.conversation import Conversation, outline


def agent(name: str, *turns: Any, sub_agents: tuple[BaseAgent, ...] = ()) -> LlmAgent:
    model = ScriptedModel(turns=list(turns) or [f"{name} says"])
    return LlmAgent(
        name=name, model=model, tools=[LongRunningFunctionTool(order)], sub_agents=list(sub_agents)
    )


def order() -> dict[str, str]:
    """Order."""
    return {"status": "pending"}


def sequence(*sub_agents: BaseAgent) -> SequentialAgent:
    return SequentialAgent(name="line", sub_agents=list(sub_agents))


async def run(root: BaseAgent, *, is_resumable: bool = True) -> list[Event]:
    config = ResumabilityConfig(is_resumable=is_resumable)
    runner = InMemoryRunner(app=App(name="shop", root_agent=root, resumability_config=config))
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    events = runner.run_async(user_id="ada", session_id=session.id, new_message=say("go"))
    return [event async for event in events]


def recorded_states(events: list[Event]) -> list[tuple[str, Any]]:
    return [
        (event.author, "end" if event.actions.end_of_agent else event.actions.agent_state)
        for event in events
        if event.actions.end_of_agent or event.actions.agent_state is not None
    ]


async def test_a_transfer_inside_a_sequence_step_ends_the_step_only() -> None:
    """The caller authors the transfer's response, before the target's first event (contract Q8)."""
    a = agent("a", call("transfer_to_agent", agent_name="helper"), sub_agents=(agent("helper"),))
    conversation = Conversation(sequence(a, agent("z", "z says", "z again")))
    events = await conversation.say("go")
    assert outline(events) == [
        "a: transfer_to_agent()",
        "a: =transfer_to_agent",
        "helper: helper says",
        "z: z says",
    ]
    assert events[1].get_function_responses()[0].response == {"result": None}


async def test_the_next_invocation_starts_at_the_root() -> None:
    """Contract Q8."""
    a = agent("a", call("transfer_to_agent", agent_name="helper"), "a again", sub_agents=(agent("helper"),))
    conversation = Conversation(sequence(a, agent("z", "z says", "z again")))
    await conversation.say("go")
    assert outline(await conversation.say("go on")) == ["a: a again", "z: z again"]


async def test_a_sequence_records_its_running_sub_agent() -> None:
    """Contract R1."""
    assert recorded_states(await run(sequence(agent("a"), agent("b")))) == [
        ("line", {"current_sub_agent": "a"}),
        ("line", {"current_sub_agent": "b"}),
        ("line", "end"),
    ]


async def test_a_loop_records_its_running_sub_agent_and_round() -> None:
    """Contract R1."""
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[agent("a", "one", "two")])
    assert recorded_states(await run(loop)) == [
        ("loop", {"current_sub_agent": "a", "times_looped": 0}),
        ("loop", {"current_sub_agent": "a", "times_looped": 1}),
        ("loop", "end"),
    ]


async def test_a_state_is_recorded_on_the_branch_of_its_agent() -> None:
    """Contract R1, Q9."""
    events = await run(ParallelAgent(name="par", sub_agents=[sequence(agent("a")), agent("b")]))
    assert {event.branch for event in events if event.author == "line"} == {"par.line"}
    assert recorded_states(events)[-1] == ("par", "end")


@pytest.mark.parametrize("is_resumable", [True, False])
async def test_only_resumable_apps_record_states_and_pause(is_resumable: bool) -> None:
    """In other apps the model sees the pending result and the sequence continues (contract R1, T5, Q10)."""
    events = await run(sequence(agent("a", call("order"), "a waits"), agent("b")), is_resumable=is_resumable)
    authors = [event.author for event in events]
    assert ("b" in authors, "line" in authors) == (not is_resumable, is_resumable)
    assert recorded_states(events) == ([("line", {"current_sub_agent": "a"})] if is_resumable else [])


async def test_a_pause_in_one_branch_lets_the_others_finish() -> None:
    """Contract T5, A5."""
    side_by_side = ParallelAgent(name="par", sub_agents=[agent("a", call("order"), "a ordered"), agent("b")])
    events = await run(sequence(side_by_side, agent("z")))
    assert sorted(outline([e for e in events if e.content])) == [
        "a: =order",
        "a: a ordered",
        "a: order()",
        "b: b says",
    ]
    assert ("par", "end") not in recorded_states(events)
