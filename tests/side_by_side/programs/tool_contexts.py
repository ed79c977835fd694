"""Tools with a context: state, actions, artifacts."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent, LoopAgent, SequentialAgent
from runtime.tools import ToolContext, exit_loop
from tests.side_by_side.program import program
from tests.side_by_side.world import Turn, World, call


def remember(key: str, value: Any, tool_context: ToolContext) -> dict[str, Any]:
    """«Remember.»"""
    tool_context.state[key] = value
    return {"remembered": key}


def recall(key: str, tool_context: ToolContext) -> dict[str, Any]:
    """«Recall.»"""
    return {"value": tool_context.state.get(key, "nothing"), "is_known": key in tool_context.state}


def add_item(item: str, tool_context: ToolContext) -> int:
    """«Add.»"""
    tool_context.state["items"] = [*tool_context.state.get("items", []), item]
    return len(tool_context.state["items"])


def give_up(tool_context: ToolContext) -> str:
    """«Give up.»"""
    tool_context.actions.escalate = True
    return "given up"


def show(tool_context: ToolContext) -> dict[str, Any]:
    """«Show.»"""
    tool_context.actions.skip_summarization = True
    return {"shown": True}


def hand_over(tool_context: ToolContext) -> str:
    """«Hand over.»"""
    tool_context.actions.transfer_to_agent = "helper"
    return "handed over"


def look_around(tool_context: ToolContext) -> dict[str, Any]:
    """«Look around.»"""
    content = tool_context.user_content
    return {
        "agent": tool_context.agent_name,
        "call": tool_context.function_call_id,
        "message": content.parts[0].text if content and content.parts else None,
        "session": tool_context.session.id,
        "user": tool_context.user_id,
        "events": len(tool_context.session.events),
        "state": tool_context.state.to_dict(),
    }


async def save(name: str, text: str, tool_context: ToolContext) -> dict[str, Any]:
    """«Save.»"""
    version = await tool_context.save_artifact(name, types.Part(text=text))
    return {"version": version, "names": await tool_context.list_artifacts()}


async def load(name: str, tool_context: ToolContext) -> dict[str, Any]:
    """«Load.»"""
    part = await tool_context.load_artifact(name)
    return {"text": part.text if part else None}


TOOLS = [remember, recall, add_item, give_up, show, look_around, save, load]


async def clerk(world: World, *turns: Turn, messages: tuple[str, ...] = ("Go",)) -> None:
    await world.play(LlmAgent(name="clerk", model=world.model(*turns), tools=list(TOOLS)), *messages)


@program
async def state_written_by_a_tool(world: World) -> None:
    await clerk(world, call("remember", key="x", value=1), "Done.")


@program
async def state_read_in_the_next_step(world: World) -> None:
    await clerk(world, call("remember", key="x", value=[1]), call("recall", key="x"), "Done.")


@program
async def state_of_all_scopes(world: World) -> None:
    keys = ["x", "user:x", "app:x", "temp:x"]
    writes = [call("remember", key=key, value=key) for key in keys]
    await clerk(world, *writes, [call("recall", key="temp:x")], "Done.")


@program
async def temporary_state_is_gone_in_the_next_invocation(world: World) -> None:
    turns: list[Turn] = [
        call("remember", key="temp:x", value=1),
        "Done.",
        call("recall", key="temp:x"),
        "Gone.",
    ]
    await clerk(world, *turns, messages=("Go", "And now?"))


@program
async def initial_state(world: World) -> None:
    state: dict[str, Any] = {"x": 1, "user:y": 2}
    await world.open(**state)
    await clerk(world, call("recall", key="x"), call("recall", key="user:y"), "Done.")


@program
async def two_calls_write_the_same_key(world: World) -> None:
    await clerk(world, [call("remember", key="x", value=1), call("remember", key="x", value=2)], "Done.")


@program
async def two_calls_write_different_keys(world: World) -> None:
    await clerk(world, [call("remember", key="x", value=1), call("remember", key="user:y", value=2)], "Done.")


@program
async def two_calls_merge_dicts(world: World) -> None:
    calls = [call("remember", key="d", value={"a": 1}), call("remember", key="d", value={"b": 2})]
    await clerk(world, calls, "Done.")


@program
async def a_list_in_the_state_grows(world: World) -> None:
    await clerk(world, call("add_item", item="a"), call("add_item", item="b"), "Done.")


@program
async def a_value_of_none(world: World) -> None:
    await clerk(world, call("remember", key="x", value=None), call("recall", key="x"), "Done.")


@program
async def user_state_in_another_session(world: World) -> None:
    model = world.model(call("remember", key="user:x", value=1), "Done.", call("recall", key="user:x"), "1")
    agent = LlmAgent(name="clerk", model=model, tools=[remember, recall])
    await world.play(agent, "Remember")
    await world.play(agent, "Recall", session_id="s2")


@program
async def what_a_tool_sees(world: World) -> None:
    await clerk(world, call("look_around", "c1"), "Done.")


@program
async def a_tool_that_skips_the_summary(world: World) -> None:
    await clerk(world, call("show"), "Never said.")


@program
async def a_tool_that_skips_the_summary_beside_another(world: World) -> None:
    await clerk(world, [call("show"), call("recall", key="x")], "Never said.")


@program
async def a_tool_that_escalates_in_a_loop(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model(call("give_up"), "Said.", "Again."), tools=[give_up])
    await world.play(LoopAgent(name="loop", sub_agents=[agent], max_iterations=3), "Go")


@program
async def a_tool_that_escalates_in_a_sequence(world: World) -> None:
    first = LlmAgent(name="clerk", model=world.model(call("give_up"), "Said."), tools=[give_up])
    second = LlmAgent(name="second", model=world.model("After."))
    await world.play(SequentialAgent(name="sequence", sub_agents=[first, second]), "Go")


@program
async def exit_loop_ends_a_loop(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model("One.", call("exit_loop"), "Never."), tools=[exit_loop])
    await world.play(LoopAgent(name="loop", sub_agents=[agent], max_iterations=5), "Go")


@program
async def a_tool_that_transfers(world: World) -> None:
    helper = LlmAgent(name="helper", model=world.model("Helped."), description="«Helps.»")
    model = world.model(call("hand_over"), "Never said.")
    await world.play(LlmAgent(name="clerk", model=model, tools=[hand_over], sub_agents=[helper]), "Go")


@program
async def artifacts_are_versioned(world: World) -> None:
    await clerk(world, call("save", name="a.txt", text="1"), call("save", name="a.txt", text="2"), "Done.")


@program
async def an_artifact_of_the_user(world: World) -> None:
    await clerk(world, call("save", name="user:a.txt", text="1"), call("load", name="user:a.txt"), "Done.")


@program
async def an_artifact_that_does_not_exist(world: World) -> None:
    await clerk(world, call("load", name="b.txt"), "None.")


@program
async def two_artifacts_in_one_step(world: World) -> None:
    await clerk(world, [call("save", name="a.txt", text="1"), call("save", name="b.txt", text="2")], "Done.")
