"""The code pipeline: a sequence of agents that pass their results on in the state (contract A3, A4, A5)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.events.quotation import quote
from tests.acceptance.agents.code_pipeline import root_agent
from tests.acceptance.agents.stage import Stage
from tests.unit.runtime.conversation import outline


async def test_each_agent_reads_the_result_of_the_previous_one_from_the_state() -> None:
    stage = Stage(
        root_agent,
        CodeWriterAgent=["def add(a, b): return a+b"],
        CodeReviewerAgent=["Add type hints."],
        CodeRefactorerAgent=["def add(a: int, b: int) -> int: return a + b"],
    )
    await stage.open()
    events = await stage.say("A function that adds two numbers")
    assert outline(events) == [
        "CodeWriterAgent: def add(a, b): return a+b",
        "CodeReviewerAgent: Add type hints.",
        "CodeRefactorerAgent: def add(a: int, b: int) -> int: return a + b",
    ]
    assert (await stage.stored()).state == {
        "generated_code": "def add(a, b): return a+b",
        "review_comments": "Add type hints.",
        "refactored_code": "def add(a: int, b: int) -> int: return a + b",
    }
    assert "Review this code:\ndef add(a, b): return a+b\n" in stage.instruction("CodeReviewerAgent")
    assert "as this review says:\nAdd type hints." in stage.instruction("CodeRefactorerAgent")
    assert quote("[CodeWriterAgent] said", "def add(a, b): return a+b") in stage.contents("CodeReviewerAgent")


async def test_a_sequence_offers_no_transfer_and_restarts_at_the_next_message() -> None:
    scripts: dict[str, Any] = {
        name: ["one", "two"] for name in ("CodeWriterAgent", "CodeReviewerAgent", "CodeRefactorerAgent")
    }
    stage = Stage(root_agent, **scripts)
    await stage.open()
    await stage.say("first")
    assert [event.author for event in await stage.say("second")] == list(scripts)
    requests = [request for model in stage.models.values() for request in model.requests]
    assert [request.tools_dict for request in requests] == [{}] * 6


async def test_a_failure_keeps_the_results_committed_before_it() -> None:
    stage = Stage(root_agent, CodeWriterAgent=["x = 1"], CodeReviewerAgent=[LookupError("no reviewer")])
    await stage.open()
    with pytest.raises(LookupError, match="no reviewer"):
        await stage.say("x")
    assert (await stage.stored()).state == {"generated_code": "x = 1"}
