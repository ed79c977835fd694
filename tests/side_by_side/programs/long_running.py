"""Long-running calls, confirmations, resumable apps."""

from __future__ import annotations

from typing import Any

from runtime.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.apps import App, ResumabilityConfig
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from runtime.tools.get_user_choice_tool import get_user_choice_tool
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import APP, Turn, World, answer, call

CONFIRM = "adk_request_confirmation"


def order(item: str) -> dict[str, Any]:
    """«Order.»"""
    return {"status": "pending", "item": item}


def order_silently(item: str) -> None:
    """«Order silently.»"""


def note_silently(item: str, tool_context: ToolContext) -> None:
    """«Note silently.»"""
    tool_context.state["noted"] = item


def price(item: str) -> dict[str, Any]:
    """«Price of an item.»"""
    return {"price": 20, "item": item}


def pay(amount: int) -> dict[str, Any]:
    """«Pay.»"""
    return {"paid": amount}


def ask(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """«Ask, then pay.»"""
    given = tool_context.tool_confirmation
    if given is None:
        tool_context.request_confirmation(hint="«Really?»", payload={"amount": amount})
        return {"status": "asked"}
    return {"confirmed": given.confirmed, "payload": given.payload}


def clerk(world: World, *turns: Turn, **settings: Any) -> LlmAgent:
    settings.setdefault(
        "tools", [LongRunningFunctionTool(order), LongRunningFunctionTool(order_silently), price, pay]
    )
    return LlmAgent(name="clerk", model=world.model(*turns), **settings)


def resumable(root: BaseAgent) -> App:
    return App(name=APP, root_agent=root, resumability_config=ResumabilityConfig(is_resumable=True))


@program
async def a_call_with_a_first_result(world: World) -> None:
    await world.play(clerk(world, call("order", item="lamp"), "Ordered."), "Go")


@program
async def a_call_without_a_first_result(world: World) -> None:
    await world.play(clerk(world, call("order_silently", item="lamp"), "Never said."), "Go")


@program
async def a_choice_of_the_person(world: World) -> None:
    tools = [get_user_choice_tool]
    await world.play(clerk(world, call("get_user_choice", options=["a", "b"]), "Never.", tools=tools), "Go")


@differing_program("A long-running call without a first result ends the turn")
async def a_choice_beside_another_call(world: World) -> None:
    both = [call("get_user_choice", options=["a", "b"]), call("price", item="lamp")]
    await world.play(clerk(world, both, "Never.", tools=[get_user_choice_tool, price]), "Go")


@differing_program("The state that a long-running call without a first result")
async def a_silent_call_that_changes_the_state(world: World) -> None:
    tools = [LongRunningFunctionTool(note_silently)]
    await world.play(clerk(world, call("note_silently", item="lamp"), "Never.", tools=tools), "Go")


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def a_call_that_is_answered_later(world: World) -> None:
    agent = clerk(world, call("order", "c1", item="lamp"), "Ordered.", "It is here.")
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, "order", {"status": "delivered"}))


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def a_silent_call_that_is_answered_later(world: World) -> None:
    agent = clerk(world, call("order_silently", "c1", item="lamp"), "It is here.")
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, "order_silently", {"status": "delivered"}))


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def a_generated_id_that_is_answered_later(world: World) -> None:
    agent = clerk(world, call("order", item="lamp"), "Ordered.", "It is here.")
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, "order", {"status": "delivered"}))


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def a_message_before_the_answer(world: World) -> None:
    agent = clerk(world, call("order", "c1", item="lamp"), "Ordered.", "Not yet.", "It is here.")
    events = await world.play(agent, "Go")
    await world.play(agent, "Is it here?")
    await world.play(agent, answer(events, "order", {"status": "delivered"}))


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def two_answers_to_one_call(world: World) -> None:
    agent = clerk(world, call("order", "c1", item="lamp"), "Ordered.", "Half-way.", "It is here.")
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, "order", {"status": "on its way"}))
    await world.play(agent, answer(events, "order", {"status": "delivered"}))


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def a_long_running_call_beside_another(world: World) -> None:
    both = [call("order", "c1", item="lamp"), call("price", "c2", item="lamp")]
    agent = clerk(world, both, "Ordered.", "It is here.")
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, "order", {"status": "delivered"}))


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def two_long_running_calls(world: World) -> None:
    both = [call("order", "c1", item="lamp"), call("order", "c2", item="desk")]
    agent = clerk(world, both, "Ordered.", "Desk.", "Lamp.")
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, "order", {"status": "desk delivered"}))


@program
async def a_long_running_call_that_failed(world: World) -> None:
    def refuse(item: str) -> dict[str, str]:
        """«Refuse.»"""
        return {"status": "error", "error": "«Sold out.»"}

    agent = clerk(world, call("refuse", item="lamp"), "Sorry.", tools=[LongRunningFunctionTool(refuse)])
    await world.play(agent, "Go")


@differing_program("The answer to a long-running call", only_in=("invocation",))
async def the_answer_goes_to_the_agent_that_asked(world: World) -> None:
    helper = clerk(world, call("order", "c1", item="lamp"), "Ordered.", "It is here.", description="«Helps.»")
    turns = (call("transfer_to_agent", agent_name="clerk"),)
    boss = LlmAgent(name="boss", model=world.model(*turns), sub_agents=[helper])
    events = await world.play(boss, "Go")
    await world.play(boss, answer(events, "order", {"status": "delivered"}))


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def an_answer_in_a_resumable_app(world: World) -> None:
    app = resumable(clerk(world, call("order", "c1", item="lamp"), "Ordered.", "It is here."))
    events = await world.play(app, "Go")
    await world.play(app, answer(events, "order", {"status": "delivered"}))


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def a_silent_call_in_a_resumable_app(world: World) -> None:
    app = resumable(clerk(world, call("order_silently", "c1", item="lamp"), "It is here."))
    events = await world.play(app, "Go")
    await world.play(app, answer(events, "order_silently", {"status": "delivered"}))


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def a_resumable_app_without_long_running_calls(world: World) -> None:
    await world.play(resumable(clerk(world, call("price", item="lamp"), "20 €")), "Go")


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def a_resumable_sequence(world: World) -> None:
    agents: list[BaseAgent] = [LlmAgent(name=name, model=world.model(name)) for name in ("first", "second")]
    await world.play(resumable(SequentialAgent(name="sequence", sub_agents=agents)), "Go")


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def a_resumable_loop(world: World) -> None:
    agent = LlmAgent(name="first", model=world.model("1", "2"))
    await world.play(resumable(LoopAgent(name="loop", sub_agents=[agent], max_iterations=2)), "Go")


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def a_resumable_pair_in_parallel(world: World) -> None:
    agents: list[BaseAgent] = [LlmAgent(name=name, model=world.model(name)) for name in ("first", "second")]
    world.in_parallel()
    await world.play(resumable(ParallelAgent(name="both", sub_agents=agents)), "Go")


@differing_program("Only workflow agents of a resumable app", only_in=("events",))
async def a_sequence_that_pauses(world: World) -> None:
    first = clerk(world, call("order_silently", "c1", item="lamp"), "It is here.")
    second = LlmAgent(name="second", model=world.model("Second."))
    app = resumable(SequentialAgent(name="sequence", sub_agents=[first, second]))
    events = await world.play(app, "Go")
    await world.play(app, answer(events, "order_silently", {"status": "delivered"}))


@differing_program("A sequence or loop of an app that is not resumable")
async def a_sequence_that_does_not_pause(world: World) -> None:
    first = clerk(world, call("order_silently", "c1", item="lamp"), "It is here.")
    second = LlmAgent(name="second", model=world.model("Second."))
    await world.play(SequentialAgent(name="sequence", sub_agents=[first, second]), "Go")


@differing_program("A call that waits for a confirmation", only_in=("events",))
async def a_tool_that_needs_a_confirmation(world: World) -> None:
    tools = [FunctionTool(pay, require_confirmation=True)]
    agent = clerk(world, call("pay", "c1", amount=5), "Please confirm.", "Paid.", tools=tools)
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, CONFIRM, {"confirmed": True}))


@differing_program("A call that waits for a confirmation")
async def a_confirmation_that_is_refused(world: World) -> None:
    tools = [FunctionTool(pay, require_confirmation=True)]
    agent = clerk(world, call("pay", "c1", amount=5), "Please confirm.", "Not paid.", tools=tools)
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, CONFIRM, {"confirmed": False}))


@differing_program("A call that waits for a confirmation", only_in=("events",))
async def a_confirmation_by_a_predicate(world: World) -> None:
    def is_large(amount: int) -> bool:
        return amount > 10

    tools = [FunctionTool(pay, require_confirmation=is_large)]
    agent = clerk(world, call("pay", "c1", amount=5), "Paid.", call("pay", "c2", amount=50), tools=tools)
    await world.play(agent, "A little", "Much")


@differing_program("A call that waits for a confirmation")
async def a_confirmation_that_the_tool_asks_for(world: World) -> None:
    agent = clerk(world, call("ask", "c1", amount=5), "Please confirm.", "Paid.", tools=[ask])
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, CONFIRM, {"confirmed": True, "payload": {"amount": 3}}))


@differing_program("A call that waits for a confirmation", only_in=("events",))
async def a_confirmation_in_a_resumable_app(world: World) -> None:
    tools = [FunctionTool(pay, require_confirmation=True)]
    app = resumable(clerk(world, call("pay", "c1", amount=5), "Paid.", tools=tools))
    events = await world.play(app, "Go")
    await world.play(app, answer(events, CONFIRM, {"confirmed": True}))


@differing_program("A call that waits for a confirmation", only_in=("events",))
async def a_confirmation_beside_a_plain_call(world: World) -> None:
    tools = [FunctionTool(pay, require_confirmation=True), price]
    both = [call("pay", "c1", amount=5), call("price", "c2", item="lamp")]
    agent = clerk(world, both, "Please confirm.", "Paid.", tools=tools)
    events = await world.play(agent, "Go")
    await world.play(agent, answer(events, CONFIRM, {"confirmed": True}))
