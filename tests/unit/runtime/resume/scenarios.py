"""Scenarios of interrupted invocations."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from runtime.agents import BaseAgent, InvocationContext, LoopAgent, ParallelAgent, SequentialAgent
from runtime.agents.base_agent import BaseAgentState
from runtime.events import Event
from tests.fakes import call
from tests.unit.runtime.resume.interruption import Scenario, answer, bow, confirm, transfer


class RotaState(BaseAgentState):
    step: int = 0


class Rota(BaseAgent):
    """Runs each sub-agent, then the first again; records its progress in a state of its own."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        place = self._load_agent_state(ctx, RotaState)
        rota = [*self.sub_agents, self.sub_agents[0]]
        for number, agent in enumerate(rota):
            if place is not None and number < place.step:
                continue
            if place is None or number > place.step:
                ctx.set_agent_state(self.name, agent_state=RotaState(step=number))
                yield self._create_agent_state_event(ctx)
            async for event in agent.run_async(ctx):
                yield event
            if ctx.is_paused(agent):
                return


SCENARIOS = {
    "one agent with two steps": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [[call("work", "w1"), call("work", "w2")], call("work", "w3"), "finished"]},
    ),
    "a sequence": Scenario(
        lambda p: SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("b"), p.llm("c")]),
        {"a": [call("work", "a1"), "a says"], "b": ["b says"], "c": [call("work", "c1"), "c says"]},
    ),
    "a sequence in a loop that is left": Scenario(
        lambda p: LoopAgent(
            name="loop",
            max_iterations=5,
            sub_agents=[SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("b")]), p.llm("judge")],
        ),
        {
            "a": [call("work", "a1"), "a one", "a two"],
            "b": ["b one", call("work", "b2"), "b two"],
            "judge": ["once more", call("exit_loop", "x1")],
        },
    ),
    "a loop in a sequence that is left in its middle": Scenario(
        lambda p: SequentialAgent(
            name="line",
            sub_agents=[LoopAgent(name="loop", sub_agents=[p.llm("judge"), p.llm("a")]), p.llm("z")],
        ),
        {"judge": ["again", call("exit_loop", "x1")], "a": [call("work", "a1"), "a says"], "z": ["z says"]},
    ),
    "a loop with a fixed number of rounds": Scenario(
        lambda p: LoopAgent(name="loop", max_iterations=2, sub_agents=[p.llm("a")]),
        {"a": [call("work", "a1"), "one", call("work", "a2"), "two"]},
    ),
    "side by side, with sequences": Scenario(
        lambda p: SequentialAgent(
            name="all",
            sub_agents=[
                ParallelAgent(
                    name="par",
                    sub_agents=[
                        SequentialAgent(name="left", sub_agents=[p.llm("l1"), p.llm("l2")]),
                        SequentialAgent(name="right", sub_agents=[p.llm("r1"), p.llm("r2")]),
                        p.llm("alone"),
                    ],
                ),
                p.llm("merger"),
            ],
        ),
        {
            "l1": [call("work", "l1a"), "l1 says"],
            "l2": ["l2 says"],
            "r1": ["r1 says"],
            "r2": [call("work", "r2a"), call("work", "r2b"), "r2 says"],
            "alone": [[call("work", "x1"), call("work", "x2")], "alone says"],
            "merger": ["merged"],
        },
    ),
    "side by side in a loop": Scenario(
        lambda p: LoopAgent(
            name="loop",
            max_iterations=2,
            sub_agents=[ParallelAgent(name="par", sub_agents=[p.llm("a"), p.llm("b")])],
        ),
        {"a": [call("work", "a1"), "a one", "a two"], "b": ["b one", call("work", "b2"), "b two"]},
    ),
    "a transfer": Scenario(
        lambda p: p.llm("root", p.llm("child"), p.llm("other")),
        {"root": [transfer("child", "t1")], "child": [call("work", "c1"), "child says"], "other": []},
    ),
    "transfers there and back": Scenario(
        lambda p: p.llm("root", p.llm("child")),
        {
            "root": [transfer("child", "t1"), call("work", "r1"), transfer("child", "t3")],
            "child": [call("work", "c1"), transfer("root", "t2"), "child says"],
        },
    ),
    "a transfer in a sequence": Scenario(
        lambda p: SequentialAgent(name="line", sub_agents=[p.llm("a", p.llm("helper")), p.llm("z")]),
        {
            "a": [transfer("helper", "t1"), call("work", "a1"), "a says"],
            "helper": [call("work", "h1"), transfer("a", "t2")],
            "z": ["z says"],
        },
    ),
    "a transfer to a sequence": Scenario(
        lambda p: p.llm("root", SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("b")])),
        {"root": [transfer("line", "t1")], "a": [call("work", "a1"), "a says"], "b": ["b says"]},
    ),
    "a transfer to a sequence in a sequence": Scenario(
        lambda p: SequentialAgent(
            name="outer",
            sub_agents=[
                p.llm("root", SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("b")])),
                p.llm("z"),
            ],
        ),
        {
            "root": [transfer("line", "t1")],
            "a": [call("work", "a1"), "a says"],
            "b": ["b says"],
            "z": ["z says"],
        },
    ),
    "a pause": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [call("order", "o1"), "ordered", call("work", "w1"), "delivered"]},
        [answer("o1")],
    ),
    "a pause on two calls beside a finished one": Scenario(
        lambda p: p.llm("clerk"),
        {
            "clerk": [
                [call("order", "o1"), call("work", "w1"), call("order", "o2")],
                "ordered",
                "half of it is there",
                "delivered",
            ]
        },
        [answer("o2"), answer("o1")],
    ),
    "a pause in a loop in a sequence": Scenario(
        lambda p: SequentialAgent(
            name="line",
            sub_agents=[
                p.llm("a"),
                LoopAgent(name="loop", max_iterations=2, sub_agents=[p.llm("b"), p.llm("c")]),
                p.llm("z"),
            ],
        ),
        {
            "a": ["a says"],
            "b": ["b one", call("order", "o1"), "b ordered", "b two"],
            "c": [call("work", "c1"), "c one", "c two"],
            "z": ["z says"],
        },
        [answer("o1")],
    ),
    "pauses side by side": Scenario(
        lambda p: SequentialAgent(
            name="line",
            sub_agents=[
                ParallelAgent(name="par", sub_agents=[p.llm("a"), p.llm("b"), p.llm("c")]),
                p.llm("z"),
            ],
        ),
        {
            "a": [call("order", "o1"), "a ordered", "a says"],
            "b": [call("work", "b1"), call("order", "o2"), "b ordered", "b says"],
            "c": [call("work", "c1"), "c says"],
            "z": ["z says"],
        },
        [answer("o2"), answer("o1")],
    ),
    "callbacks that speak before and after": Scenario(
        lambda p: SequentialAgent(
            name="line",
            sub_agents=[
                p.llm("a", after_agent_callback=bow),
                SequentialAgent(name="closed", sub_agents=[p.llm("b")], before_agent_callback=bow),
                p.llm("c", before_agent_callback=bow),
            ],
        ),
        {"a": [call("work", "a1"), "a says"], "b": [], "c": []},
    ),
    "a call to be confirmed": Scenario(
        lambda p: SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("z")]),
        {"a": [[call("work", "w1"), call("pay", "p1")], "a says"], "z": ["z says"]},
        [confirm],
    ),
    "a custom agent with a state of its own": Scenario(
        lambda p: Rota(
            name="rota",
            sub_agents=[
                p.llm("a"),
                LoopAgent(name="loop", max_iterations=2, sub_agents=[p.llm("b")]),
            ],
        ),
        {"a": [call("work", "a1"), "a one", call("work", "a2"), "a two"], "b": ["b one", "b two"]},
    ),
    "a custom agent that runs a sequence twice": Scenario(
        lambda p: Rota(
            name="rota",
            sub_agents=[SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("b")]), p.llm("c")],
        ),
        {"a": [call("work", "a1"), "a one", "a two"], "b": ["b one", "b two"], "c": ["c says"]},
    ),
}
