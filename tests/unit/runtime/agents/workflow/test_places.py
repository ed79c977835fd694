"""Spec A5, Q8, R1: the order of a sequence, and the places that workflow agents record in resumable apps."""

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


def line(*sub_agents: BaseAgent) -> SequentialAgent:
    return SequentialAgent(name="line", sub_agents=list(sub_agents))


async def run(root: BaseAgent, *, is_resumable: bool = True) -> list[Event]:
    config = ResumabilityConfig(is_resumable=is_resumable)
    runner = InMemoryRunner(app=App(name="shop", root_agent=root, resumability_config=config))
    session = await runner.session_service.create_session(app_name="shop", user_id="ada")
    events = runner.run_async(user_id="ada", session_id=session.id, new_message=say("go"))
    return [event async for event in events]


def places(events: list[Event]) -> list[tuple[str, Any]]:
    return [
        (event.author, "end" if event.actions.end_of_agent else event.actions.agent_state)
        for event in events
        if event.actions.end_of_agent or event.actions.agent_state is not None
    ]


async def test_a_transfer_inside_a_step_ends_the_step_and_the_sequence_goes_on() -> None:
    """Q8: the transfer's response comes before the target's first event, and is the caller's."""
    a = agent("a", call("transfer_to_agent", agent_name="helper"), sub_agents=(agent("helper"),))
    conversation = Conversation(line(a, agent("z", "z says", "z again")))
    events = await conversation.say("go")
    assert outline(events) == [
        "a: transfer_to_agent()",
        "a: =transfer_to_agent",
        "helper: helper says",
        "z: z says",
    ]
    assert events[1].get_function_responses()[0].response == {"result": None}


async def test_the_next_turn_starts_at_the_root() -> None:
    """Q8."""
    a = agent("a", call("transfer_to_agent", agent_name="helper"), "a again", sub_agents=(agent("helper"),))
    conversation = Conversation(line(a, agent("z", "z says", "z again")))
    await conversation.say("go")
    assert outline(await conversation.say("go on")) == ["a: a again", "z: z again"]


async def test_a_sequence_says_whose_turn_it_is() -> None:
    """R1."""
    assert places(await run(line(agent("a"), agent("b")))) == [
        ("line", {"current_sub_agent": "a"}),
        ("line", {"current_sub_agent": "b"}),
        ("line", "end"),
    ]


async def test_a_loop_says_whose_turn_it_is_and_in_which_round() -> None:
    """R1."""
    loop = LoopAgent(name="loop", max_iterations=2, sub_agents=[agent("a", "one", "two")])
    assert places(await run(loop)) == [
        ("loop", {"current_sub_agent": "a", "times_looped": 0}),
        ("loop", {"current_sub_agent": "a", "times_looped": 1}),
        ("loop", "end"),
    ]


async def test_a_place_is_on_the_branch_of_its_agent() -> None:
    """R1, Q9."""
    events = await run(ParallelAgent(name="par", sub_agents=[line(agent("a")), agent("b")]))
    assert {event.branch for event in events if event.author == "line"} == {"par.line"}
    assert places(events)[-1] == ("par", "end")


@pytest.mark.parametrize("is_resumable", [True, False])
async def test_only_resumable_apps_record_places_and_pause(is_resumable: bool) -> None:
    """R1, T5, Q10: else the model sees the pending result, and the sequence goes on."""
    events = await run(line(agent("a", call("order"), "a waits"), agent("b")), is_resumable=is_resumable)
    authors = [event.author for event in events]
    assert ("b" in authors, "line" in authors) == (not is_resumable, is_resumable)
    assert places(events) == ([("line", {"current_sub_agent": "a"})] if is_resumable else [])


async def test_a_pause_in_one_branch_lets_the_others_finish() -> None:
    """T5, A5."""
    side_by_side = ParallelAgent(name="par", sub_agents=[agent("a", call("order"), "never"), agent("b")])
    events = await run(line(side_by_side, agent("z")))
    assert sorted(outline([e for e in events if e.content])) == ["a: =order", "a: order()", "b: b says"]
    assert ("par", "end") not in places(events)
