"""The contest: branches do not see each other, the judge sees all (contract A5, A7, A4)."""

from __future__ import annotations

from typing import Any

from tests.acceptance.agents.poem_contest import POETS, root_agent
from tests.acceptance.agents.stage import Stage


async def test_poets_work_alone_and_the_judge_sees_all() -> None:
    verdict = {"winner": "limerick", "reason": "It is funny."}
    scripts: dict[str, Any] = {form: [f"A {form} on the moon", f"A {form} on tea"] for form in POETS}
    answer = '{"winner": "limerick", "reason": "It is funny."}'
    scripts["judge"] = [answer, answer]
    stage = Stage(root_agent, **scripts)
    await stage.open()
    events = await stage.say("A poem on the moon")
    assert sorted(str(event.branch) for event in events) == [
        "None",
        "poets.haiku",
        "poets.limerick",
        "poets.sonnet",
    ]
    assert all(f"A {form} on the moon" in stage.instruction("judge") for form in POETS)
    await stage.say("Now on tea")
    seen = " ".join(stage.contents("haiku"))
    assert "A haiku on the moon" in seen and "limerick on the moon" not in seen
    assert (await stage.stored()).state["verdict"] == verdict
