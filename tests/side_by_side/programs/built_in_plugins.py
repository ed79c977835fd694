"""Plugins that come with the packages, and hooks on failures."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import LlmAgent, SequentialAgent
from runtime.apps import App
from runtime.plugins import BasePlugin, ReflectAndRetryToolPlugin
from runtime.plugins.context_filter_plugin import ContextFilterPlugin
from runtime.plugins.global_instruction_plugin import GlobalInstructionPlugin
from runtime.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from runtime.tools import AgentTool, load_artifacts
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import APP, Turn, World, call


def price(item: str) -> dict[str, Any]:
    """«Price of an item.»"""
    return {"price": 20, "item": item}


def fails(item: str) -> str:
    """«Fail.»"""
    raise LookupError(item)


async def clerk(
    world: World, plugin: BasePlugin, *turns: Turn, messages: tuple[Any, ...] = ("Go",), **settings: Any
) -> None:
    settings.setdefault("tools", [price, fails])
    agent = LlmAgent(name="clerk", model=world.model(*turns), **settings)
    await world.play(App(name=APP, root_agent=agent, plugins=[plugin]), *messages)


@program
async def a_global_instruction_by_a_plugin(world: World) -> None:
    await clerk(world, GlobalInstructionPlugin("«Be polite.»"), "Hello.", instruction="«Serve.»")


@program
async def the_last_invocations_only(world: World) -> None:
    plugin = ContextFilterPlugin(num_invocations_to_keep=1)
    await clerk(world, plugin, "One.", "Two.", "Three.", messages=("First", "Second", "Third"))


@program
async def a_filter_of_contents(world: World) -> None:
    plugin = ContextFilterPlugin(custom_filter=lambda contents: contents[-1:])
    await clerk(world, plugin, "One.", "Two.", messages=("First", "Second"))


@program
async def a_filter_keeps_calls_and_responses_together(world: World) -> None:
    plugin = ContextFilterPlugin(num_invocations_to_keep=1)
    turns = (call("price", item="lamp"), "One.", call("price", item="desk"), "Two.")
    await clerk(world, plugin, *turns, messages=("First", "Second"))


@differing_program(
    "`SaveFilesAsArtifactsPlugin` leaves nothing", only_in=("state", "actions", "required", "display_name")
)
async def uploads_become_artifacts(world: World) -> None:
    blob = types.Blob(data=b"Hello", mime_type="text/plain", display_name="note.txt")
    message = [types.Part(text="Read this"), types.Part(inline_data=blob)]
    await clerk(world, SaveFilesAsArtifactsPlugin(), "Saved.", messages=(message,), tools=[load_artifacts])


@program
async def a_plugin_sees_agents_that_run_as_tools(world: World) -> None:
    class Counter(BasePlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            world.note(agent=callback_context.agent_name)

    expert = LlmAgent(name="expert", model=world.model("Because."), description="«Knows.»")
    turns = (call("expert", request="Why?"), "He says: because.")
    await clerk(world, Counter(name="counter"), *turns, tools=[AgentTool(expert)])


class FailureWatcher(BasePlugin):
    """Notes failures of agents and runs."""

    def __init__(self, world: World) -> None:
        super().__init__(name="failures")
        self.world = world

    async def on_agent_error_callback(self, *, agent: Any, callback_context: Any, error: Exception) -> None:
        self.world.note(failed_agent=agent.name, error=str(error))

    async def on_run_error_callback(self, *, invocation_context: Any, error: Exception) -> None:
        self.world.note(failed_run=True, error=str(error))

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        self.world.note(run="after")


@program
async def hooks_on_a_failing_model(world: World) -> None:
    await clerk(world, FailureWatcher(world), LookupError("no"))


@program
async def hooks_on_a_failing_tool(world: World) -> None:
    await clerk(world, FailureWatcher(world), call("fails", item="x"))


@differing_program("An exception in an agent below the root", only_in=("events",))
async def hooks_on_a_failing_agent_in_a_sequence(world: World) -> None:
    agent = LlmAgent(name="clerk", model=world.model(LookupError("no")))
    sequence = SequentialAgent(name="sequence", sub_agents=[agent])
    await world.play(App(name=APP, root_agent=sequence, plugins=[FailureWatcher(world)]), "Go")


@program
async def hooks_on_a_failure_that_fail_themselves(world: World) -> None:
    class Broken(FailureWatcher):
        async def on_agent_error_callback(self, **kwargs: Any) -> None:
            raise ValueError("broken")

        async def on_run_error_callback(self, **kwargs: Any) -> None:
            raise ValueError("broken")

    await clerk(world, Broken(world), LookupError("no"))


@program
async def no_failure_no_hooks(world: World) -> None:
    await clerk(world, FailureWatcher(world), "Hello.")


@program
async def a_retry_after_a_failing_tool(world: World) -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=1)
    await clerk(world, plugin, call("fails", item="x"), call("price", item="lamp"), "20 €")


@differing_program(
    "`ReflectAndRetryToolPlugin` raises the exception of the tool", only_in=("error_code", "raised")
)
async def too_many_retries(world: World) -> None:
    plugin = ReflectAndRetryToolPlugin(max_retries=1)
    await clerk(world, plugin, call("fails", item="x"), call("fails", item="y"), "Never.")
