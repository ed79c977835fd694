"""Resume in another process of an invocation interrupted after any event (contract R1, T5)."""

from __future__ import annotations

from itertools import permutations

import pytest

from runtime import types
from runtime.events.calls import call_ids, response_ids
from tests.fakes import Turn, call, say
from tests.unit.runtime.resume import late_answers, scenarios
from tests.unit.runtime.resume.interruption import (
    Message,
    Scenario,
    answer,
    answered,
    confirm,
    is_model_event,
    lines_by_branch,
)

SCENARIOS = scenarios.SCENARIOS | late_answers.SCENARIOS


@pytest.mark.parametrize("is_noted", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
async def test_an_invocation_ends_as_without_interruption_wherever_it_is_interrupted(
    scenario: Scenario, is_noted: bool
) -> None:
    """No workflow step is skipped or repeated, no finished call is rerun, no unfinished call is lost."""
    uninterrupted = await scenario.uninterrupted()
    assert uninterrupted.unused_turns() == {}
    expected = await uninterrupted.session()
    for count in range(1, len(expected.events) + 1):
        process = await scenario.resume_after(count, expected.events, is_noted=is_noted)
        session = await process.session()
        assert lines_by_branch(session.events) == lines_by_branch(expected.events), count
        assert session.state == expected.state, count
        assert process.unused_turns() == {}, count
        unfinished = set(uninterrupted.ran) - answered(expected.events[:count])
        assert sorted(process.ran) == sorted(unfinished), count
        assert {event.invocation_id for event in session.events} == {session.events[0].invocation_id}


async def test_a_complete_invocation_has_nothing_to_resume() -> None:
    for scenario in SCENARIOS.values():
        uninterrupted = await scenario.uninterrupted()
        log = (await uninterrupted.session()).events
        resumed = await scenario.process(log)
        assert await resumed.resume(log[0].invocation_id) == []


@pytest.mark.parametrize("scenario", late_answers.SCENARIOS.values(), ids=late_answers.SCENARIOS.keys())
async def test_a_late_answer_is_handled_by_the_agent_that_made_the_call(scenario: Scenario) -> None:
    """Its model is called after the last answer, whatever happened before (contract T5, L8)."""
    events = (await (await scenario.uninterrupted()).session()).events
    last = max(position for position, event in enumerate(events) if event.author == "user")
    [answered] = response_ids(events[last])
    asker = next(event.author for event in events if answered in call_ids(event))
    answers_of_asker = [
        event for event in events[last + 1 :] if event.author == asker and is_model_event(event)
    ]
    assert answers_of_asker


@pytest.mark.parametrize("name", ["a pause", "a pause in a loop in a sequence", "pauses side by side"])
async def test_a_paused_invocation_stays_paused_and_reruns_nothing(name: str) -> None:
    """Resuming does not answer the pending call (contract T5)."""
    scenario = SCENARIOS[name]
    first = await scenario.process()
    await first.send(say("go"))
    log = (await first.session()).events
    resumed = await scenario.process(log)
    assert await resumed.resume(log[0].invocation_id) == []
    assert resumed.ran == []


async def test_a_call_without_a_first_result_is_not_rerun_when_another_is_answered() -> None:
    """A long-running tool may return nothing at first (contract T5)."""
    from_outside = [answer("o1", name="drop"), answer("o2", name="drop")]
    script: dict[str, list[Turn]] = {"clerk": [[call_drop("o1"), call_drop("o2")], "all there"]}
    scenario = Scenario(lambda p: p.llm("clerk"), script, from_outside)
    process = await scenario.process()
    await process.send(say("go"))
    assert sorted(process.ran) == ["o1", "o2"]
    for message in from_outside:
        process = await scenario.process((await process.session()).events)
        await process.send(message([]))
        assert process.ran == []
    assert (await process.session()).events[-1].text() == "all there"


@pytest.mark.parametrize("answers", list(permutations([confirm, answer("o1", name="drop")])))
async def test_a_call_without_a_first_result_is_waited_for_beside_one_that_is_confirmed(
    answers: tuple[Message, Message],
) -> None:
    """The model is called once, with both results (contract T5, T7)."""
    script: dict[str, list[Turn]] = {"clerk": [[call("pay", "p1"), call_drop("o1")], "all there"]}
    process = await Scenario(lambda p: p.llm("clerk"), script, list(answers)).uninterrupted()
    assert (await process.session()).events[-1].text() == "all there"
    contents = process.models["clerk"].requests[-1].contents
    results = [part.function_response.response for part in contents[-1].parts or [] if part.function_response]
    assert results == [{"result": "paid"}, {"status": "delivered"}]
    assert process.ran == ["o1", "p1"]


async def test_a_long_running_call_interrupted_before_it_ran_is_run() -> None:
    """No event shows that it ran, so it runs: at least once (contract R1)."""
    scenario = Scenario(
        lambda p: p.llm("clerk"), {"clerk": [call_drop("o1"), "there"]}, [answer("o1", name="drop")]
    )
    uninterrupted = await scenario.uninterrupted()
    process = await scenario.resume_after(2, (await uninterrupted.session()).events)
    assert process.ran == ["o1"]
    assert (await process.session()).events[-1].text() == "there"


def call_drop(call_id: str) -> types.Part:
    return call("drop", call_id)
