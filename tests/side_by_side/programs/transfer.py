"""Transfer between agents, and the agent that answers the next message."""

from __future__ import annotations

from typing import Any

from runtime.agents import LlmAgent, LoopAgent, SequentialAgent
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import Turn, World, call


def agent(world: World, name: str, *turns: Turn, **settings: Any) -> LlmAgent:
    settings.setdefault("description", f"«About {name}.»")
    return LlmAgent(name=name, model=world.model(*turns), **settings)


def to(name: str) -> Turn:
    return call("transfer_to_agent", agent_name=name)


def price(item: str) -> int:
    """«Price of an item.»"""
    return 20


@program
async def to_a_sub_agent(world: World) -> None:
    helper = agent(world, "helper", "Helped.")
    await world.play(agent(world, "boss", to("helper"), sub_agents=[helper]), "Go")


@program
async def the_sub_agent_answers_the_next_message(world: World) -> None:
    helper = agent(world, "helper", "Helped.", "Again.")
    await world.play(agent(world, "boss", to("helper"), sub_agents=[helper]), "Go", "More")


@program
async def back_to_the_parent(world: World) -> None:
    helper = agent(world, "helper", to("boss"))
    await world.play(
        agent(world, "boss", to("helper"), "Back.", sub_agents=[helper]),
        "Go",
    )


@program
async def to_a_peer(world: World) -> None:
    first, second = agent(world, "first", to("second")), agent(world, "second", "Second.", "Still.")
    await world.play(agent(world, "boss", to("first"), sub_agents=[first, second]), "Go", "More")


@differing_program("A transfer to an agent that is not offered")
async def to_a_peer_that_is_not_allowed(world: World) -> None:
    first = agent(world, "first", to("second"), "Then I do it.", disallow_transfer_to_peers=True)
    boss = agent(world, "boss", to("first"), sub_agents=[first, agent(world, "second")])
    await world.play(boss, "Go")


@program
async def an_agent_that_may_not_return(world: World) -> None:
    helper = agent(world, "helper", "Helped.", "Again.", disallow_transfer_to_parent=True)
    boss = agent(world, "boss", to("helper"), "I am back.", sub_agents=[helper])
    await world.play(boss, "Go", "More")


@program
async def an_agent_that_may_transfer_to_no_one(world: World) -> None:
    flags = {"disallow_transfer_to_parent": True, "disallow_transfer_to_peers": True}
    helper = agent(world, "helper", "Helped.", **flags)
    await world.play(agent(world, "boss", to("helper"), sub_agents=[helper]), "Go")


@program
async def to_a_grandchild_and_on(world: World) -> None:
    leaf = agent(world, "leaf", "Leaf.", "Again.")
    middle = agent(world, "middle", to("leaf"), sub_agents=[leaf])
    await world.play(agent(world, "boss", to("middle"), sub_agents=[middle]), "Go", "More")


@program
async def to_a_sequence(world: World) -> None:
    steps = SequentialAgent(
        name="steps",
        description="«Steps.»",
        sub_agents=[agent(world, "first", "1"), agent(world, "second", "2")],
    )
    await world.play(agent(world, "boss", to("steps"), "Boss.", sub_agents=[steps]), "Go", "More")


@program
async def to_a_loop(world: World) -> None:
    loop = LoopAgent(
        name="loop", description="«Loop.»", sub_agents=[agent(world, "first", "1", "2")], max_iterations=2
    )
    await world.play(agent(world, "boss", to("loop"), sub_agents=[loop]), "Go")


@differing_program("The instruction on transfer names")
async def out_of_a_step_of_a_sequence(world: World) -> None:
    helper = agent(world, "helper", "Helped.")
    first = agent(world, "first", to("helper"), sub_agents=[helper])
    sequence = SequentialAgent(name="sequence", sub_agents=[first, agent(world, "second", "Second.")])
    await world.play(sequence, "Go")


@program
async def a_transfer_beside_a_call(world: World) -> None:
    helper = agent(world, "helper", "Helped.")
    both = [call("price", item="lamp"), call("transfer_to_agent", agent_name="helper")]
    await world.play(agent(world, "boss", both, tools=[price], sub_agents=[helper]), "Go")


@program
async def a_text_beside_a_transfer(world: World) -> None:
    from google.genai import types

    helper = agent(world, "helper", "Helped.")
    both = [types.Part(text="One moment."), call("transfer_to_agent", agent_name="helper")]
    await world.play(agent(world, "boss", both, sub_agents=[helper]), "Go")


@program
async def to_an_agent_without_description(world: World) -> None:
    helper = agent(world, "helper", "Helped.", description="")
    await world.play(agent(world, "boss", to("helper"), sub_agents=[helper]), "Go")


@differing_program("A transfer to an agent that is not offered")
async def to_an_agent_that_does_not_exist(world: World) -> None:
    boss = agent(world, "boss", to("nobody"), "Sorry.", sub_agents=[agent(world, "helper")])
    await world.play(boss, "Go")


@differing_program("An agent that failed after a transfer")
async def an_agent_that_failed_does_not_answer_again(world: World) -> None:
    helper = agent(world, "helper", LookupError("no"), "Helper.")
    boss = agent(world, "boss", to("helper"), "Boss.", sub_agents=[helper])
    await world.play(boss, "Go", "More")


@program
async def a_tool_of_the_target(world: World) -> None:
    helper = agent(world, "helper", call("price", item="lamp"), "20 €", tools=[price])
    await world.play(agent(world, "boss", to("helper"), sub_agents=[helper]), "Go")


@program
async def an_output_key_of_the_target(world: World) -> None:
    helper = agent(world, "helper", "Helped.", output_key="help")
    boss = agent(world, "boss", to("helper"), sub_agents=[helper], output_key="boss")
    await world.play(boss, "Go")
