"""Sequential, loop, parallel and custom agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.genai import types

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from runtime.events import Event, EventActions
from runtime.tools import ToolContext
from tests.side_by_side.program import differing_program, program
from tests.side_by_side.world import Turn, World, call, content_of


def says(world: World, name: str, *turns: Turn, **settings: Any) -> LlmAgent:
    return LlmAgent(name=name, model=world.model(*turns), **settings)


class Clock(BaseAgent):
    """Says the time and counts in the state."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        count = ctx.session.state.get("count", 0) + 1
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            branch=ctx.branch,
            content=content_of("model", f"{count} o'clock"),
            actions=EventActions(state_delta={"count": count}, escalate=count == 3),
        )


class Chatter(BaseAgent):
    """Speaks as often as it may."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        for count in range(3):
            yield Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                branch=ctx.branch,
                content=content_of("model", f"Chat {count}"),
            )


class Boss(BaseAgent):
    """Runs its first agent, then the second if the first said yes."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        first, second = self.sub_agents
        async for event in first.run_async(ctx):
            yield event
        if ctx.session.state.get("said") == "yes":
            async for event in second.run_async(ctx):
                yield event


class Quitter(BaseAgent):
    """Ends the invocation."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        ctx.end_invocation = True
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content_of("model", "Enough."))


def add_one(tool_context: ToolContext) -> int:
    """«Add one.»"""
    tool_context.state["sum"] = tool_context.state.get("sum", 0) + 1
    return int(tool_context.state["sum"])


@program
async def a_sequence(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "first", "One."), says(world, "second", "Two.")]
    await world.play(SequentialAgent(name="sequence", sub_agents=agents), "Go")


@program
async def a_sequence_passes_on_an_output(world: World) -> None:
    first = says(world, "first", "A draft.", output_key="draft")
    second = says(world, "second", "Better.", instruction="«Improve {draft}»", output_key="text")
    await world.play(SequentialAgent(name="sequence", sub_agents=[first, second]), "Go")


@program
async def a_sequence_with_tools(world: World) -> None:
    first = says(world, "first", call("add_one"), "One.", tools=[add_one])
    second = says(world, "second", call("add_one"), "Two.", tools=[add_one])
    await world.play(SequentialAgent(name="sequence", sub_agents=[first, second]), "Go")


@program
async def a_sequence_of_two_messages(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "first", "One.", "Three."), says(world, "second", "Two.", "Four.")]
    await world.play(SequentialAgent(name="sequence", sub_agents=agents), "Go", "Again")


@program
async def a_nested_sequence(world: World) -> None:
    inner = SequentialAgent(name="inner", sub_agents=[says(world, "anna", "A."), says(world, "bert", "B.")])
    await world.play(SequentialAgent(name="outer", sub_agents=[inner, says(world, "cleo", "C.")]), "Go")


@program
async def an_empty_sequence(world: World) -> None:
    await world.play(SequentialAgent(name="sequence"), "Go")


@program
async def a_loop_ends_after_its_iterations(world: World) -> None:
    await world.play(
        LoopAgent(name="loop", sub_agents=[says(world, "anna", "1", "2")], max_iterations=2), "Go"
    )


@program
async def a_loop_of_two_agents(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "anna", "1", "2"), says(world, "bert", "x", "y")]
    await world.play(LoopAgent(name="loop", sub_agents=agents, max_iterations=2), "Go")


@program
async def an_agent_escalates_out_of_a_loop(world: World) -> None:
    await world.play(LoopAgent(name="loop", sub_agents=[Clock(name="clock")]), "Go")


@program
async def the_agent_after_an_escalation_in_a_loop_does_not_run(world: World) -> None:
    await world.open(count=2)
    agents: list[BaseAgent] = [Clock(name="clock"), says(world, "after", "Never.")]
    await world.play(LoopAgent(name="loop", sub_agents=agents, max_iterations=2), "Go")


@program
async def an_escalation_ends_only_the_inner_loop(world: World) -> None:
    inner = LoopAgent(name="inner", sub_agents=[Clock(name="clock")])
    outer = LoopAgent(name="outer", sub_agents=[inner, says(world, "anna", "1", "2")], max_iterations=2)
    await world.play(outer, "Go")


@program
async def a_loop_in_a_sequence(world: World) -> None:
    loop = LoopAgent(name="loop", sub_agents=[Clock(name="clock")])
    await world.play(SequentialAgent(name="sequence", sub_agents=[loop, says(world, "last", "Done.")]), "Go")


@program
async def two_parallel_agents(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "anna", "A."), says(world, "bert", "B.")]
    world.in_parallel()
    await world.play(ParallelAgent(name="both", sub_agents=agents), "Go")


@program
async def a_parallel_agent_escalates(world: World) -> None:
    await world.open(count=2)
    both = ParallelAgent(name="both", sub_agents=[Clock(name="clock"), Chatter(name="chatter")])
    await world.play(SequentialAgent(name="sequence", sub_agents=[both, says(world, "last", "Done.")]), "Go")


@program
async def parallel_agents_then_a_merger(world: World) -> None:
    agents: list[BaseAgent] = [
        says(world, "anna", "A.", output_key="a"),
        says(world, "bert", "B.", output_key="b"),
    ]
    merger = says(world, "merger", "Merged.", instruction="«Merge {a} and {b}»")
    both = ParallelAgent(name="both", sub_agents=agents)
    world.in_parallel()
    await world.play(SequentialAgent(name="sequence", sub_agents=[both, merger]), "Go")


@program
async def parallel_agents_with_tools(world: World) -> None:
    agents: list[BaseAgent] = [
        says(world, "anna", call("add_one", "a1"), "A.", tools=[add_one]),
        says(world, "bert", "B."),
    ]
    world.in_parallel()
    await world.play(ParallelAgent(name="both", sub_agents=agents), "Go")


@program
async def parallel_sequences(world: World) -> None:
    left = SequentialAgent(name="left", sub_agents=[says(world, "anna", "A."), says(world, "bert", "B.")])
    right = SequentialAgent(name="right", sub_agents=[says(world, "cleo", "C."), says(world, "dora", "D.")])
    world.in_parallel()
    await world.play(ParallelAgent(name="both", sub_agents=[left, right]), "Go")


@program
async def parallel_agents_in_a_second_invocation(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "anna", "A1.", "A2."), says(world, "bert", "B1.", "B2.")]
    world.in_parallel()
    await world.play(ParallelAgent(name="both", sub_agents=agents), "Go", "Again")


@program
async def a_custom_agent(world: World) -> None:
    await world.play(Clock(name="clock"), "Go", "Again")


@program
async def a_custom_agent_decides_what_runs(world: World) -> None:
    for said in ("yes", "no"):
        first = says(world, "first", said, output_key="said")
        boss = Boss(name="boss", sub_agents=[first, says(world, "second", "Then this.")])
        await world.play(boss, "Go", session_id=said)


@program
async def a_custom_agent_ends_the_invocation(world: World) -> None:
    agents: list[BaseAgent] = [Quitter(name="quitter"), says(world, "after", "After.")]
    await world.play(SequentialAgent(name="sequence", sub_agents=agents), "Go")


@program
async def a_custom_agent_between_model_agents(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "anna", "A."), Clock(name="clock"), says(world, "bert", "B.")]
    await world.play(SequentialAgent(name="sequence", sub_agents=agents), "Go")


@differing_program("An exception in an agent below the root")
async def a_failing_agent_in_a_sequence(world: World) -> None:
    agents: list[BaseAgent] = [says(world, "anna", LookupError("no")), says(world, "bert", "B.")]
    await world.play(SequentialAgent(name="sequence", sub_agents=agents), "Go")


@differing_program("The role of `Event(message=")
async def an_event_made_by_hand_from_a_text(world: World) -> None:
    class Speaker(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author=self.name, message="Hello.")

    await world.play(Speaker(name="speaker"), "Go")


@differing_program("An event without an `invocation_id`")
async def an_event_made_by_hand_with_state(world: World) -> None:
    class Speaker(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author=self.name, state={"x": 1, "temp:y": 2})
            yield Event(
                author=self.name, content=types.Content(role="model", parts=[types.Part(text="Hello.")])
            )

    await world.play(Speaker(name="speaker"), "Go")


@differing_program("An event without an `invocation_id`")
async def a_partial_event_made_by_hand(world: World) -> None:
    class Speaker(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
            yield Event(author=self.name, content=content_of("model", "Hel"), partial=True, state={"x": 1})
            yield Event(author=self.name, content=content_of("model", "Hello."))

    await world.play(Speaker(name="speaker"), "Go")
