"""Plugins: callbacks of the app, asked before those of the agent."""

from __future__ import annotations

from typing import Any

from google.genai import types

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, SequentialAgent
from runtime.agents.callback_context import CallbackContext
from runtime.apps import App
from runtime.events import Event
from runtime.models import LlmRequest, LlmResponse
from runtime.plugins import BasePlugin
from runtime.tools import BaseTool, ToolContext
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import APP, Turn, World, call, content_of


def price(item: str) -> dict[str, Any]:
    """«Price of an item.»"""
    return {"price": 20, "item": item}


def fails() -> str:
    """«Fail.»"""
    raise LookupError("no")


async def clerk(world: World, plugins: list[BasePlugin], *turns: Turn, **settings: Any) -> None:
    agent = LlmAgent(name="clerk", model=world.model(*turns), tools=[price, fails], **settings)
    await world.play(App(name=APP, root_agent=agent, plugins=plugins), "Go")


class Watcher(BasePlugin):
    """Notes which of its hooks are called."""

    def __init__(self, world: World, name: str = "watcher") -> None:
        super().__init__(name=name)
        self.world = world

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        self.world.note(hook=f"{self.name} message")

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self.world.note(hook=f"{self.name} before run")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        self.world.note(hook=f"{self.name} event", author=event.author)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self.world.note(hook=f"{self.name} after run")

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> None:
        self.world.note(hook=f"{self.name} before agent", agent=agent.name)

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> None:
        self.world.note(hook=f"{self.name} after agent", agent=agent.name)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        self.world.note(hook=f"{self.name} before model")

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> None:
        self.world.note(hook=f"{self.name} after model")

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        self.world.note(hook=f"{self.name} before tool", tool=tool.name, args=dict(tool_args))

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> None:
        self.world.note(hook=f"{self.name} after tool", tool=tool.name, result=result)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        self.world.note(hook=f"{self.name} model error", error=str(error))

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> None:
        self.world.note(hook=f"{self.name} tool error", error=str(error))


@program
async def the_order_of_all_hooks(world: World) -> None:
    await clerk(world, [Watcher(world)], call("price", item="lamp"), "20 €")


@program
async def the_order_of_two_plugins(world: World) -> None:
    await clerk(world, [Watcher(world, "one"), Watcher(world, "two")], "Hello.")


@program
async def hooks_of_a_sequence(world: World) -> None:
    agents: list[BaseAgent] = [LlmAgent(name=name, model=world.model(name)) for name in ("first", "second")]
    sequence = SequentialAgent(name="sequence", sub_agents=agents)
    await world.play(App(name=APP, root_agent=sequence, plugins=[Watcher(world)]), "Go")


@program
async def hooks_of_a_failing_model(world: World) -> None:
    await clerk(world, [Watcher(world)], LookupError("no"))


@program
async def hooks_of_a_failing_tool(world: World) -> None:
    await clerk(world, [Watcher(world)], call("fails"))


@program
async def a_plugin_replaces_the_message(world: World) -> None:
    class Replacer(BasePlugin):
        async def on_user_message_callback(
            self, *, invocation_context: InvocationContext, user_message: types.Content
        ) -> types.Content:
            return content_of("user", "Something else")

    await clerk(world, [Replacer(name="replacer")], "Hello.")


@differing_program("The reply of a plugin's `before_run_callback`")
async def a_plugin_replies_before_the_run(world: World) -> None:
    class Gate(BasePlugin):
        async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content:
            return content_of("model", "Closed.")

    await clerk(world, [Gate(name="gate")])


@program
async def a_plugin_replaces_an_event(world: World) -> None:
    class Stamp(BasePlugin):
        async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event:
            return Event(author=event.author, content=content_of("model", "Stamped."))

    await clerk(world, [Stamp(name="stamp")], "Hello.")


@program
async def a_plugin_replies_before_the_agent(world: World) -> None:
    class Gate(BasePlugin):
        async def before_agent_callback(
            self, *, agent: BaseAgent, callback_context: CallbackContext
        ) -> types.Content:
            return content_of("model", "Closed.")

    def own(callback_context: CallbackContext) -> None:
        world.note(asked="agent's callback")

    await clerk(world, [Gate(name="gate")], before_agent_callback=own)


@program
async def a_plugin_adds_a_content_after_the_agent(world: World) -> None:
    class Signer(BasePlugin):
        async def after_agent_callback(
            self, *, agent: BaseAgent, callback_context: CallbackContext
        ) -> types.Content:
            callback_context.state["signed"] = True
            return content_of("model", "Signed.")

    await clerk(world, [Signer(name="signer")], "Hello.")


@program
async def a_plugin_replies_before_the_model(world: World) -> None:
    class Cache(BasePlugin):
        async def before_model_callback(
            self, *, callback_context: CallbackContext, llm_request: LlmRequest
        ) -> LlmResponse:
            return LlmResponse(content=content_of("model", "Cached."))

    def own(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        world.note(asked="agent's callback")

    await clerk(world, [Cache(name="cache")], before_model_callback=own)


@program
async def a_plugin_replaces_the_response(world: World) -> None:
    class Censor(BasePlugin):
        async def after_model_callback(
            self, *, callback_context: CallbackContext, llm_response: LlmResponse
        ) -> LlmResponse:
            return LlmResponse(content=content_of("model", "Censored."))

    await clerk(world, [Censor(name="censor")], "Hello.")


@program
async def a_plugin_answers_a_model_error(world: World) -> None:
    class Excuse(BasePlugin):
        async def on_model_error_callback(
            self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
        ) -> LlmResponse:
            return LlmResponse(content=content_of("model", "Sorry."))

    await clerk(world, [Excuse(name="excuse")], LookupError("no"))


@program
async def a_plugin_answers_a_call(world: World) -> None:
    class Cache(BasePlugin):
        async def before_tool_callback(
            self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
        ) -> dict[str, Any]:
            return {"price": 1}

    await clerk(world, [Cache(name="cache")], call("price", item="lamp"), "1 €")


@program
async def a_plugin_replaces_a_result(world: World) -> None:
    class Double(BasePlugin):
        async def after_tool_callback(
            self,
            *,
            tool: BaseTool,
            tool_args: dict[str, Any],
            tool_context: ToolContext,
            result: dict[str, Any],
        ) -> dict[str, Any]:
            return {"price": result["price"] * 2}

    await clerk(world, [Double(name="double")], call("price", item="lamp"), "40 €")


@program
async def a_plugin_answers_a_tool_error(world: World) -> None:
    class Excuse(BasePlugin):
        async def on_tool_error_callback(
            self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
        ) -> dict[str, Any]:
            return {"failed": str(error)}

    await clerk(world, [Excuse(name="excuse")], call("fails"), "Sorry.")


@differing_program("An exception of a plugin")
async def a_plugin_that_raises(world: World) -> None:
    class Broken(BasePlugin):
        async def before_model_callback(
            self, *, callback_context: CallbackContext, llm_request: LlmRequest
        ) -> None:
            raise LookupError("no")

    await clerk(world, [Broken(name="broken")])


@program
async def a_plugin_writes_state(world: World) -> None:
    class Counter(BasePlugin):
        async def before_model_callback(
            self, *, callback_context: CallbackContext, llm_request: LlmRequest
        ) -> None:
            callback_context.state["calls"] = callback_context.state.get("calls", 0) + 1

        async def after_tool_callback(
            self,
            *,
            tool: BaseTool,
            tool_args: dict[str, Any],
            tool_context: ToolContext,
            result: dict[str, Any],
        ) -> None:
            tool_context.state["tools"] = tool_context.state.get("tools", 0) + 1

    await clerk(world, [Counter(name="counter")], call("price", item="lamp"), "20 €")
