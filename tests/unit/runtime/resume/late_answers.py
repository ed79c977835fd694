"""Scenarios in which a call is answered while others of its step are open, or after the agents continued."""

from __future__ import annotations

from runtime import types
from runtime.agents import LoopAgent, ParallelAgent, SequentialAgent
from tests.fakes import call
from tests.unit.runtime.resume.interruption import Scenario, answer, bow, confirm, report, transfer


def choose(call_id: str) -> types.Part:
    return call("get_user_choice", call_id, options=["red", "blue"])


SCENARIOS = {
    "a yes before the answer to a call beside it": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [[call("pay", "p1"), call("order", "o1")], "paid and ordered", "paid and delivered"]},
        [confirm, answer("o1")],
    ),
    "a yes after the answer to a call beside it": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [[call("pay", "p1"), call("order", "o1")], "paid and delivered"]},
        [answer("o1"), confirm],
    ),
    "a report before the answer": Scenario(
        lambda p: p.llm("clerk", after_agent_callback=bow),
        {
            "clerk": [
                call("order", "o1"),
                "ordered",
                "half of it is there",
                call("work", "w1"),
                "all is there",
            ]
        },
        [report("o1"), answer("o1")],
    ),
    "a report in a sequence that has ended by the answer": Scenario(
        lambda p: SequentialAgent(name="line", sub_agents=[p.llm("a", p.llm("helper")), p.llm("z")]),
        {
            "a": [call("order", "o1"), "ordered", "half of it is there", transfer("helper", "t1")],
            "helper": [call("work", "h1"), "all is there"],
            "z": ["z says"],
        },
        [report("o1"), answer("o1")],
    ),
    "an answer that takes another order": Scenario(
        lambda p: SequentialAgent(name="line", sub_agents=[p.llm("a"), p.llm("z")]),
        {
            "a": [
                call("order", "o1"),
                "ordered",
                "half of it is there",
                call("order", "o2"),
                "ordered",
                "all is there",
            ],
            "z": ["z says"],
        },
        [report("o1"), answer("o1"), answer("o2")],
    ),
    "a report and its answer while another agent waits": Scenario(
        lambda p: SequentialAgent(
            name="line",
            sub_agents=[ParallelAgent(name="par", sub_agents=[p.llm("a"), p.llm("b")]), p.llm("z")],
        ),
        {
            "a": [call("order", "o1"), "a ordered", "half of it is there", "all is there"],
            "b": [call("order", "o2"), "b ordered", "b says"],
            "z": ["z says"],
        },
        [report("o1"), answer("o1"), answer("o2")],
    ),
    "a choice beside a finished call": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [[choose("u1"), call("work", "w1")], "chosen"]},
        [answer("u1", name="get_user_choice")],
    ),
    "a choice before a yes": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [[choose("u1"), call("pay", "p1")], "chosen and paid"]},
        [answer("u1", name="get_user_choice"), confirm],
    ),
    "a choice after a yes": Scenario(
        lambda p: p.llm("clerk"),
        {"clerk": [[choose("u1"), call("pay", "p1")], "chosen and paid"]},
        [confirm, answer("u1", name="get_user_choice")],
    ),
    "a pending call beside a transfer": Scenario(
        lambda p: p.llm("root", p.llm("child")),
        {"root": [[call("order", "o1"), transfer("child", "t1")], "delivered"], "child": ["child says"]},
        [answer("o1")],
    ),
    "a pending call beside a transfer there and back": Scenario(
        lambda p: p.llm("root", p.llm("child")),
        {
            "root": [[call("order", "o1"), transfer("child", "t1")], "meanwhile", "delivered"],
            "child": [call("work", "c1"), transfer("root", "t2")],
        },
        [answer("o1")],
    ),
    "pending calls on both sides of a transfer, in a sequence": Scenario(
        lambda p: SequentialAgent(name="line", sub_agents=[p.llm("root", p.llm("child")), p.llm("z")]),
        {
            "root": [[call("order", "o1"), transfer("child", "t1")], "delivered"],
            "child": [call("order", "o2"), "child ordered", "child says"],
            "z": ["z says"],
        },
        [answer("o1"), answer("o2")],
    ),
    "a call to be confirmed beside a transfer": Scenario(
        lambda p: p.llm("root", p.llm("child")),
        {"root": [[call("pay", "p1"), transfer("child", "t1")], "paid"], "child": ["child says"]},
        [confirm],
    ),
    "a call to be confirmed beside a transfer there and back": Scenario(
        lambda p: p.llm("root", p.llm("child")),
        {
            "root": [[call("pay", "p1"), transfer("child", "t1")], "meanwhile", "paid"],
            "child": [transfer("root", "t2")],
        },
        [confirm],
    ),
    "a pending call beside the end of a loop": Scenario(
        lambda p: SequentialAgent(
            name="line",
            sub_agents=[LoopAgent(name="loop", max_iterations=3, sub_agents=[p.llm("judge")]), p.llm("z")],
        ),
        {"judge": [[call("order", "o1"), call("exit_loop", "x1")], "delivered"], "z": ["z says"]},
        [answer("o1")],
    ),
}
