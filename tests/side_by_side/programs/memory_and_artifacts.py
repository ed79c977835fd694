"""Memory, artifacts and their tools."""

from __future__ import annotations

from typing import Any

from runtime.agents import LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.tools import ToolContext, load_artifacts, load_memory, preload_memory
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import Turn, World, call


def clerk(world: World, *turns: Turn, **settings: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=world.model(*turns), **settings)


async def remember(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


async def look_up(query: str, tool_context: ToolContext) -> dict[str, Any]:
    """«Look up.»"""
    found = await tool_context.search_memory(query)
    texts = [part.text for memory in found.memories for part in memory.content.parts or []]
    return {"texts": sorted(text for text in texts if text), "authors": [m.author for m in found.memories]}


@program
async def memory_of_another_session(world: World) -> None:
    await world.play(clerk(world, "Noted.", after_agent_callback=remember), "I like green lamps")
    agent = clerk(world, call("look_up", query="green"), "Green lamps.", tools=[look_up])
    await world.play(agent, "What do I like?", session_id="s2")


@program
async def memory_without_a_match(world: World) -> None:
    await world.play(clerk(world, "Noted.", after_agent_callback=remember), "I like green lamps")
    agent = clerk(world, call("look_up", query="zebra"), "Nothing.", tools=[look_up])
    await world.play(agent, "What do I like?", session_id="s2")


@differing_program("`load_artifacts` requires", only_in=("required",))
async def load_artifacts_shows_a_file(world: World) -> None:
    await world.save_file("note.txt", "Call Bert.")
    turns = (call("load_artifacts", artifact_names=["note.txt"]), "Call Bert.")
    await world.play(clerk(world, *turns, tools=[load_artifacts]), "Read my note")


@differing_program("`load_artifacts` requires", only_in=("required",))
async def load_artifacts_without_files(world: World) -> None:
    await world.play(clerk(world, "Nothing.", tools=[load_artifacts]), "Read my note")


@differing_program("`load_artifacts` requires", only_in=("required",))
async def load_artifacts_of_a_missing_file(world: World) -> None:
    await world.save_file("note.txt", "Call Bert.")
    turns = (call("load_artifacts", artifact_names=["gone.txt"]), "Gone.")
    await world.play(clerk(world, *turns, tools=[load_artifacts]), "Read my note")


@program
async def load_memory_is_declared(world: World) -> None:
    await world.play(clerk(world, "Nothing.", tools=[load_memory]), "What do I like?")


@program
async def preload_memory_without_a_match(world: World) -> None:
    await world.play(clerk(world, "Nothing.", tools=[preload_memory]), "What do I like?")


@program
async def preload_memory_with_a_match(world: World) -> None:
    await world.play(clerk(world, "Noted.", after_agent_callback=remember), "I like «green» lamps")
    await world.play(clerk(world, "Green.", tools=[preload_memory]), "Which lamps?", session_id="s2")
