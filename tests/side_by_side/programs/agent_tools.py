"""Agents as tools."""

from __future__ import annotations

from typing import Any

from google.genai import types
from pydantic import BaseModel

from runtime.agents import LlmAgent, LoopAgent, SequentialAgent
from runtime.tools import AgentTool, ToolContext
from tests.side_by_side.program import program
from tests.side_by_side.world import Turn, World, call


class Question(BaseModel):
    topic: str
    depth: int = 1


class Finding(BaseModel):
    text: str
    sure: bool


def remember(key: str, tool_context: ToolContext) -> str:
    """«Remember.»"""
    tool_context.state[key] = True
    return "remembered"


async def save(tool_context: ToolContext) -> int:
    """«Save.»"""
    return await tool_context.save_artifact("report.txt", types.Part(text="Report"))


def expert(world: World, *turns: Turn, **settings: Any) -> LlmAgent:
    return LlmAgent(name="expert", description="«Knows all.»", model=world.model(*turns), **settings)


async def ask(world: World, tool: AgentTool, *turns: Turn, **state: Any) -> None:
    """Play one message to a clerk with the agent as a tool."""
    await world.open(**state)
    await world.play(LlmAgent(name="clerk", model=world.model(*turns), tools=[tool]), "Go")


ASK = call("expert", "c1", request="Why?")


@program
async def an_agent_answers_a_call(world: World) -> None:
    await ask(world, AgentTool(expert(world, "Because.")), ASK, "He says: because.")


@program
async def an_answer_of_two_parts(world: World) -> None:
    parts = [types.Part(text="Hm.", thought=True), types.Part(text="One."), types.Part(text="Two.")]
    await ask(world, AgentTool(expert(world, parts)), ASK, "Done.")


@program
async def an_empty_answer(world: World) -> None:
    await ask(world, AgentTool(expert(world, "")), ASK, "Done.")


@program
async def an_agent_that_uses_a_tool_and_state(world: World) -> None:
    agent = expert(world, call("remember", key="seen"), "Because.", tools=[remember], output_key="found")
    await ask(world, AgentTool(agent), ASK, "Done.")


@program
async def state_reaches_the_agent(world: World) -> None:
    agent = expert(world, "Because.", instruction="«Answer {name}.»")
    await ask(world, AgentTool(agent), ASK, "Done.", name="Ada")


@program
async def artifacts_reach_the_caller(world: World) -> None:
    await ask(world, AgentTool(expert(world, call("save"), "Saved.", tools=[save])), ASK, "Done.")


@program
async def arguments_by_an_input_schema(world: World) -> None:
    agent = expert(world, "Because.", input_schema=Question)
    await ask(world, AgentTool(agent), call("expert", topic="lamps", depth=2), "Done.")


@program
async def a_result_by_an_output_schema(world: World) -> None:
    agent = expert(world, '{"text": "Lamps", "sure": true}', output_schema=Finding)
    await ask(world, AgentTool(agent), ASK, "Done.")


@program
async def the_answer_is_shown_without_a_summary(world: World) -> None:
    await ask(world, AgentTool(expert(world, "Because."), skip_summarization=True), ASK, "Never said.")


@program
async def an_agent_that_fails(world: World) -> None:
    await ask(world, AgentTool(expert(world, LookupError("no"))), ASK, "Never said.")


@program
async def a_sequence_as_a_tool(world: World) -> None:
    agents = [LlmAgent(name=name, model=world.model(name)) for name in ("first", "second")]
    sequence = SequentialAgent(name="expert", description="«Two steps.»", sub_agents=list(agents))
    await ask(world, AgentTool(sequence), ASK, "Done.")


@program
async def a_loop_as_a_tool(world: World) -> None:
    step = LlmAgent(name="step", model=world.model("1", "2"))
    await ask(world, AgentTool(LoopAgent(name="expert", sub_agents=[step], max_iterations=2)), ASK, "Done.")


@program
async def an_agent_as_a_tool_of_an_agent_as_a_tool(world: World) -> None:
    inner = LlmAgent(name="inner", description="«Inner.»", model=world.model("Deep."))
    agent = expert(world, call("inner", request="Deeper?"), "Because.", tools=[AgentTool(inner)])
    await ask(world, AgentTool(agent), ASK, "Done.")


@program
async def two_calls_of_an_agent_in_two_steps(world: World) -> None:
    agent = expert(world, "One.", "Two.")
    await ask(world, AgentTool(agent), ASK, call("expert", "c2", request="And?"), "Done.")
