"""Memory, artifacts and their tools."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent
from runtime.agents.callback_context import CallbackContext
from runtime.memory.memory_entry import MemoryEntry
from runtime.tools import ToolContext, load_artifacts, load_memory, preload_memory
from runtime.tools.load_web_page import load_web_page
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


async def remember_the_message(callback_context: CallbackContext) -> None:
    first = callback_context.session.events[:1]
    await callback_context.add_events_to_memory(events=first, custom_metadata={"kind": "message"})


async def add_an_entry(tool_context: ToolContext) -> dict[str, Any]:
    """«Add an entry.»"""
    entry = MemoryEntry(content=types.Content(role="user", parts=[types.Part(text="green")]))
    try:
        await tool_context.add_memory(memories=[entry])
    except NotImplementedError:
        return {"added": False}
    return {"added": True}


async def look_at_versions(name: str, tool_context: ToolContext) -> dict[str, Any]:
    """«Look at versions.»"""
    await tool_context.save_artifact(name, types.Part(text="1"))
    blob = types.Blob(data=b"2", mime_type="text/csv")
    await tool_context.save_artifact(name, types.Part(inline_data=blob))
    found = [await tool_context.get_artifact_version(name, version) for version in (None, 0, 7)]
    return {
        "versions": [
            {"version": facts.version, "type": facts.mime_type, "metadata": facts.custom_metadata}
            for facts in found
            if facts
        ],
        "credential": str(tool_context.get_credential("none")),
    }


@program
async def memory_of_some_events(world: World) -> None:
    await world.play(clerk(world, "Green it is.", after_agent_callback=remember_the_message), "Green lamps")
    agent = clerk(world, call("look_up", query="green"), "Green lamps.", tools=[look_up])
    await world.play(agent, "What do I like?", session_id="s2")


@program
async def memory_of_an_entry_of_its_own(world: World) -> None:
    await world.play(clerk(world, call("add_an_entry"), "No.", tools=[add_an_entry]), "Remember green")


@program
async def versions_of_an_artifact(world: World) -> None:
    turns = (call("look_at_versions", name="a"), "Two.")
    await world.play(clerk(world, *turns, tools=[look_at_versions]), "Which?")


async def forget_the_first(callback_context: CallbackContext) -> None:
    first = callback_context.session.events[0]
    await callback_context.delete_memory(first.id)
    await callback_context.delete_memory()
    await callback_context.add_session_to_memory()


@program
async def memory_of_a_deleted_entry(world: World) -> None:
    callbacks = [remember, forget_the_first]
    await world.play(clerk(world, "Green it is.", after_agent_callback=callbacks), "Green lamps")
    agent = clerk(world, call("look_up", query="green"), "It is.", tools=[look_up])
    await world.play(agent, "What do I like?", session_id="s2")


@program
async def memory_without_a_match(world: World) -> None:
    await world.play(clerk(world, "Noted.", after_agent_callback=remember), "I like green lamps")
    agent = clerk(world, call("look_up", query="zebra"), "Nothing.", tools=[look_up])
    await world.play(agent, "What do I like?", session_id="s2")


@differing_program("An answer after `load_artifacts`", only_in=("required", "grounding_metadata"))
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
async def load_web_page_is_declared(world: World) -> None:
    await world.play(clerk(world, "Nothing.", tools=[load_web_page]), "What is on the page?")


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
