"""Parallel research: each researcher has its own branch, and the merger sees all of them (contract A5, A7, Q9)."""

from __future__ import annotations

from typing import Any

from runtime.events.quotation import quote
from tests.acceptance.agents.parallel_research import TOPICS, root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call
from tests.unit.runtime.conversation import outline


def research_stage() -> Stage:
    scripts: dict[str, Any] = {
        f"{key}_researcher": [call("look_up", topic=key), f"News of {key}."] for key in TOPICS
    }
    return Stage(root_agent, **scripts, SynthesisAgent=["The report."])


async def test_the_merger_writes_its_report_from_all_findings() -> None:
    stage = research_stage()
    await stage.open()
    events = await stage.say("What is new?")
    assert outline(events)[-1] == "SynthesisAgent: The report."
    for key in TOPICS:
        own = [event for event in events if event.author == f"{key}_researcher"]
        assert outline(own) == [
            f"{key}_researcher: look_up()",
            f"{key}_researcher: =look_up",
            f"{key}_researcher: News of {key}.",
        ]
        assert {event.branch for event in own} == {f"ParallelWebResearchAgent.{key}_researcher"}
        assert own[-1].actions.state_delta == {f"{key}_result": f"News of {key}."}
    assert (events[-1].branch, len(events)) == (None, 10)
    assert (await stage.stored()).state == {f"{key}_result": f"News of {key}." for key in TOPICS}
    assert "* electric vehicle technology: News of ev_technology." in stage.instruction("SynthesisAgent")


async def test_researchers_do_not_see_each_other_and_the_merger_sees_all() -> None:
    stage = research_stage()
    await stage.open()
    await stage.say("What is new?")
    for key in TOPICS:
        assert stage.contents(f"{key}_researcher") == ["What is new?"]
    seen = stage.contents("SynthesisAgent")
    assert {quote(f"[{key}_researcher] said", f"News of {key}.") for key in TOPICS} <= set(seen)
