"""The analyst: code of the answer is executed, its failure goes back to the model (contract T12, A3)."""

from __future__ import annotations

from runtime import types
from tests.acceptance.agents.data_analyst import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import parts_of


def code(program: str) -> str:
    return f"```python\n{program}\n```"


async def test_the_analyst_mends_its_program_and_tells_the_result() -> None:
    stage = Stage(
        root_agent, analyst=[code("print(total)"), code("print(sum([3, 4, 5]))"), "They sold 12 in all."]
    )
    await stage.open(sales=[3, 4, 5])
    events = await stage.say("How many in all?")
    results = [part.code_execution_result for event in events for part in parts_of(event.content)]
    failed, succeeded = [result for result in results if result]
    assert failed.outcome is types.Outcome.OUTCOME_FAILED and "NameError" in (failed.output or "")
    assert succeeded.outcome is types.Outcome.OUTCOME_OK and "12" in (succeeded.output or "")
    assert "12" in " ".join(stage.contents("analyst"))
    assert (await stage.stored()).state["finding"].endswith("They sold 12 in all.")
