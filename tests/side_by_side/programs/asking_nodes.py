"""Nodes that ask for a confirmation or a credential, workflows that are rewound, and whose output an event gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.genai import types

from runtime.agents import LlmAgent
from runtime.auth import AuthConfig, AuthCredential, AuthCredentialTypes
from runtime.events import Event
from runtime.events.request_input import RequestInput
from runtime.plugins import BasePlugin
from runtime.tools import FunctionTool, ToolContext
from runtime.workflow import JoinNode, Workflow, node
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.programs.graphs import Message, Talk, Writer, ans, run
from tests.side_by_side.programs.more_graphs import flow
from tests.side_by_side.world import World

CONFIG = AuthConfig.model_validate({"authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"}})
KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k")


def answer_all(response: dict[str, Any], *, backwards: bool = False) -> Message:
    """Return an answer to all that the events ask."""

    def make(events: Sequence[Event]) -> types.Content:
        parts = []
        for event in events:
            for call in event.get_function_calls():
                if call.id in (event.long_running_tool_ids or ()):
                    answered = types.FunctionResponse(id=call.id, name=call.name, response=response)
                    parts.append(types.Part(function_response=answered))
        if backwards:
            parts.reverse()
        return types.Content(role="user", parts=parts)

    return make


YES = answer_all({"confirmed": True})
NO = answer_all({"confirmed": False})
WITH_KEY = answer_all(
    CONFIG.model_copy(update={"exchanged_auth_credential": KEY}).model_dump(mode="json", by_alias=True)
)


def pay(amount: int) -> Any:
    """«Pay.»"""
    return {"paid": amount}


def begin() -> Any:
    return {"amount": 7}


def end(node_input: Any) -> Any:
    return f"end {node_input}"


@program
async def confirmation_of_a_function(world: World) -> None:
    @node(require_confirmation=True, rerun_on_resume=True)
    def refund(node_input: dict[str, int]) -> Any:
        world.note(ran=node_input)
        return node_input["amount"] + 1

    await run(world, flow(("START", begin, refund, end)), "hi", YES)


@program
async def confirmation_by_a_predicate(world: World) -> None:
    @node(require_confirmation=lambda amount: amount > 5, rerun_on_resume=True)
    def refund(amount: int = 9) -> Any:
        world.note(ran=amount)
        return amount

    await run(world, flow(("START", refund, end)), "hi", YES)


@differing_program("A refused node gives the same response as a refused call")
async def confirmation_that_is_refused(world: World) -> None:
    @node(require_confirmation=True, rerun_on_resume=True)
    def refund(amount: int = 9) -> Any:
        world.note(ran=amount)
        return amount

    await run(world, flow(("START", refund)), "hi", NO)


@program
async def confirmation_of_a_tool(world: World) -> None:
    tool = FunctionTool(pay, require_confirmation=True)
    await run(world, flow(("START", begin, tool, end)), "hi", YES)


@program
async def confirmation_that_a_tool_asks_for(world: World) -> None:
    def withdraw(amount: int, tool_context: ToolContext) -> Any:
        """«Withdraw.»"""
        answer = tool_context.tool_confirmation
        if answer is None:
            tool_context.request_confirmation(hint="How much?", payload={"amount": amount})
            return None
        return {"paid": (answer.payload or {})["amount"]}

    answered = answer_all({"confirmed": True, "payload": {"amount": 3}})
    await run(world, flow(("START", begin, FunctionTool(withdraw), end)), "hi", answered)


@program
async def confirmation_within_an_agent(world: World) -> None:
    call = types.Part(function_call=types.FunctionCall(id="c1", name="pay", args={"amount": 5}))
    clerk = LlmAgent(
        name="clerk",
        model=Writer(world=world, turns=[call, "Paid."]),
        tools=[FunctionTool(pay, require_confirmation=True)],
    )
    await run(world, flow(("START", clerk, end)), "hi", YES)


@program
async def confirmation_in_a_nested_workflow(world: World) -> None:
    @node(require_confirmation=True, rerun_on_resume=True)
    def refund(node_input: dict[str, int]) -> Any:
        return node_input["amount"]

    inner = Workflow(name="inner", edges=[("START", refund)])
    await run(world, flow(("START", begin, inner, end)), "hi", YES)


def two_confirmations() -> Workflow:
    @node(require_confirmation=True, rerun_on_resume=True)
    def first() -> Any:
        return 1

    @node(require_confirmation=True, rerun_on_resume=True)
    def second() -> Any:
        return 2

    def total(node_input: dict[str, int]) -> Any:
        return sum(node_input.values())

    return flow(("START", (first, second), JoinNode(name="join"), total))


@program
async def two_confirmations_at_once(world: World) -> None:
    await run(world, two_confirmations(), "hi", YES)


@program
async def two_confirmations_answered_backwards(world: World) -> None:
    await run(world, two_confirmations(), "hi", answer_all({"confirmed": True}, backwards=True))


@program
async def credential_of_a_function(world: World) -> None:
    @node(auth_config=CONFIG, rerun_on_resume=True)
    def fetch(ctx: Any) -> Any:
        return ctx.get_auth_response(CONFIG).api_key

    await run(world, flow(("START", fetch, end)), "hi", WITH_KEY)


def fetch(tool_context: ToolContext) -> Any:
    """«Fetch.»"""
    credential = tool_context.get_auth_response(CONFIG)
    if credential is None:
        tool_context.request_credential(CONFIG)
        return None
    return {"key": credential.api_key}


@program
async def credential_of_a_tool(world: World) -> None:
    def nothing() -> Any:
        return {}

    await run(world, flow(("START", nothing, FunctionTool(fetch), end)), "hi", WITH_KEY)


@program
async def credential_within_an_agent(world: World) -> None:
    call = types.Part(function_call=types.FunctionCall(id="c1", name="fetch", args={}))
    clerk = LlmAgent(
        name="clerk", model=Writer(world=world, turns=[call, "Fetched."]), tools=[FunctionTool(fetch)]
    )
    await run(world, flow(("START", clerk, end)), "hi", WITH_KEY)


def counting() -> Workflow:
    def count(ctx: Any) -> Any:
        ctx.state["runs"] = ctx.state.get("runs", 0) + 1
        return ctx.state["runs"]

    return flow(("START", count, end))


@program
async def a_rewound_run_leaves_no_state(world: World) -> None:
    talk = await Talk(world, counting()).begin()
    await talk.say("one")
    await talk.say("two")
    await talk.rewind()
    await talk.say("three")
    await talk.end()


@program
async def a_rewound_question_is_asked_again(world: World) -> None:
    def ask(ctx: Any) -> Any:
        ctx.state["asked"] = True
        return RequestInput(message="sure?")

    talk = await Talk(world, flow(("START", ask, end))).begin()
    await talk.say("one")
    await talk.rewind()
    await talk.say("two")
    await talk.say(ans("yes"))
    await talk.end()


@program
async def a_rewind_of_an_answered_workflow(world: World) -> None:
    def ask() -> Any:
        return RequestInput(message="sure?")

    def note(node_input: str, ctx: Any) -> Any:
        ctx.state["answer"] = node_input
        return node_input

    talk = await Talk(world, flow(("START", ask, note))).begin()
    await talk.say("one")
    await talk.say(ans("yes"))
    await talk.rewind()
    await talk.say("two")
    await talk.end()


class Outputs(BasePlugin):
    """Notes the runs whose output each event gives."""

    def __init__(self) -> None:
        super().__init__(name="outputs")
        self.found: list[list[Any]] = []

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
        info = event.node_info
        if info is None:
            return
        # The message of an agent is its output; the packages have it in different events.
        output = "a message" if info.message_as_output else event.output
        self.found += [[path, output] for path in info.output_for or ()]


async def note_outputs(world: World, workflow: Workflow) -> None:
    outputs = Outputs()
    await run(world, workflow, "hi", plugins=[outputs])
    world.note(outputs=sorted(outputs.found))


@program
async def the_output_of_a_workflow(world: World) -> None:
    await note_outputs(world, flow(("START", begin, end)))


@program
async def the_output_of_nested_workflows(world: World) -> None:
    inner = Workflow(name="inner", edges=[("START", begin, end)])
    # `notes_of` leaves out the outputs of workflows whose names end so.
    middle = Workflow(name="with_inner", edges=[("START", inner)])
    await note_outputs(world, flow(("START", middle)))


@program
async def the_output_of_a_workflow_in_the_middle(world: World) -> None:
    inner = Workflow(name="inner", edges=[("START", begin)])
    await note_outputs(world, flow(("START", inner, end)))


@program
async def the_output_of_an_agent(world: World) -> None:
    writer = LlmAgent(name="writer", model=Writer(world=world, turns=["ok"]))
    await note_outputs(world, flow(("START", begin, writer)))


@program
async def the_output_of_a_dynamic_node(world: World) -> None:
    @node(rerun_on_resume=True)
    async def outer(ctx: Any) -> Any:
        return [await ctx.run_node(end, 1), await ctx.run_node(end, 2)]

    await note_outputs(world, flow(("START", outer)))


@program
async def no_output_of_a_workflow(world: World) -> None:
    def nothing() -> None: ...

    await note_outputs(world, flow(("START", begin, nothing)))
