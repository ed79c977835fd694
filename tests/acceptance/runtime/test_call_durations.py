"""Contract L10: each call of a step reports its end, and the event records the durations."""

from __future__ import annotations

import asyncio
import time

import pytest

from runtime.agents import LlmAgent
from runtime.events.calls import call_seconds
from runtime.run_config import CallEnd, RunConfig
from runtime.tools import AgentTool
from tests.acceptance.runtime.clerk import add, clerk, nothing
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation


async def test_a_step_of_several_calls_reports_each_end_and_records_the_durations() -> None:
    """Contract L10: the duration of a synchronous call is without its wait for the call before it."""
    ends: list[str] = []
    times: dict[str, float] = {}
    others_ended = asyncio.Event()

    async def last() -> str:
        """Wait for the other calls."""
        await others_ended.wait()
        return "waited"

    def slow() -> None:
        """Take some time."""
        time.sleep(0.05)
        times["slow has slept"] = time.monotonic()

    def quick() -> None:
        """Take no time."""

    def note(end: CallEnd) -> None:
        ends.append(end.call.name or "")
        times[ends[-1]] = time.monotonic()
        if len(ends) == 3:
            others_ended.set()

    steps = [call("last", "1"), call("slow", "2"), call("quick", "3"), call("unknown", "4")]
    agent = clerk(steps, "done", tools=[last, slow, quick])
    answered = (await Conversation(agent).say("go", run_config=RunConfig(on_call_end=note)))[1]
    assert sorted(ends[:3]) == ["quick", "slow", "unknown"] and ends[3] == "last"
    seconds = [call_seconds(answered, call_id) or 0.0 for call_id in ("1", "2", "3")]
    assert seconds[0] >= seconds[1] >= 0.05 - 0.001  # rounded
    assert seconds[2] <= times["quick"] - times["slow has slept"] + 0.001
    assert call_seconds(answered, "4") is not None


@pytest.mark.parametrize("config", [RunConfig(), RunConfig(on_call_end=lambda end: pytest.fail(str(end)))])
async def test_a_single_call_and_a_caller_who_does_not_ask_have_no_durations(config: RunConfig) -> None:
    names = ["nothing"] if config.on_call_end else ["nothing", "add"]
    agent = clerk([call(name) for name in names], "done", tools=[nothing, add])
    answered = (await Conversation(agent).say("go", run_config=config))[1]
    assert answered.custom_metadata is None


async def test_the_duration_of_an_agent_as_a_tool_contains_that_of_its_tools() -> None:
    waited: list[float] = []

    async def wait() -> None:
        """Take some time."""
        begun = time.monotonic()
        await asyncio.sleep(0.05)
        waited.append(time.monotonic() - begun)

    def quick() -> None:
        """Take no time."""

    expert = LlmAgent(
        name="expert", model=ScriptedModel(turns=[call("wait"), call("quick"), "ok"]), tools=[wait, quick]
    )
    steps = [call("expert", "1", request="x"), call("quick", "2")]
    agent = clerk(steps, "done", tools=[AgentTool(expert), quick])
    config = RunConfig(on_call_end=lambda end: None)
    answered = (await Conversation(agent).say("go", run_config=config))[1]
    assert (call_seconds(answered, "1") or 0.0) >= waited[0] - 0.001  # rounded
