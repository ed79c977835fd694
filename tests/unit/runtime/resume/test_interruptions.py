"""Spec R1, T5: an invocation that is cut off after any event goes on where it stopped, in another process."""

from __future__ import annotations

from itertools import permutations

import pytest

from runtime import types
from runtime.events.calls import call_ids, response_ids
from tests.fakes import call, say
from tests.unit.runtime.resume import late_answers, plays
from tests.unit.runtime.resume.interruption import (
    Message,
    Play,
    answer,
    answered,
    confirm,
    is_model_event,
    story,
)

PLAYS = plays.PLAYS | late_answers.PLAYS


@pytest.mark.parametrize("is_noted", [False, True])
@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS.keys())
async def test_it_ends_as_if_nothing_had_happened_wherever_it_is_cut_off(play: Play, is_noted: bool) -> None:
    """No step of a workflow is left out or repeated, no finished call runs again, no unfinished one is lost."""
    whole = await play.whole()
    assert whole.left_unsaid() == {}
    expected = await whole.session()
    for count in range(1, len(expected.events) + 1):
        process = await play.cut_off_after(count, expected.events, is_noted=is_noted)
        session = await process.session()
        assert story(session.events) == story(expected.events), count
        assert session.state == expected.state, count
        assert process.left_unsaid() == {}, count
        unfinished = set(whole.ran) - answered(expected.events[:count])
        assert sorted(process.ran) == sorted(unfinished), count
        assert {event.invocation_id for event in session.events} == {session.events[0].invocation_id}


async def test_what_is_complete_has_nothing_to_go_on_with() -> None:
    for play in PLAYS.values():
        whole = await play.whole()
        log = (await whole.session()).events
        again = await play.process(log)
        assert await again.resume(log[0].invocation_id) == []


@pytest.mark.parametrize("play", late_answers.PLAYS.values(), ids=late_answers.PLAYS.keys())
async def test_a_late_answer_is_heard_by_the_agent_that_asked(play: Play) -> None:
    """T5, L8: its model says something after the last answer, whatever was said, skipped or handed over before."""
    events = (await (await play.whole()).session()).events
    last = max(position for position, event in enumerate(events) if event.author == "user")
    [answered] = response_ids(events[last])
    asker = next(event.author for event in events if answered in call_ids(event))
    said = [event for event in events[last + 1 :] if event.author == asker and is_model_event(event)]
    assert said


@pytest.mark.parametrize("name", ["a pause", "a pause in a loop in a sequence", "pauses side by side"])
async def test_what_waits_goes_on_waiting_and_runs_nothing_again(name: str) -> None:
    """T5: resuming a pause is no answer to it."""
    play = PLAYS[name]
    first = await play.process()
    await first.send(say("go"))
    log = (await first.session()).events
    again = await play.process(log)
    assert await again.resume(log[0].invocation_id) == []
    assert again.ran == []


async def test_a_call_without_a_first_result_is_not_run_again_when_another_is_answered() -> None:
    """T5: a long-running tool may say nothing at first."""
    from_outside = [answer("o1", name="drop"), answer("o2", name="drop")]
    script = {"clerk": [[call_drop("o1"), call_drop("o2")], "all there"]}
    play = Play(lambda p: p.llm("clerk"), script, from_outside)
    process = await play.process()
    await process.send(say("go"))
    assert sorted(process.ran) == ["o1", "o2"]
    for message in from_outside:
        process = await play.process((await process.session()).events)
        await process.send(message([]))
        assert process.ran == []
    assert (await process.session()).events[-1].text() == "all there"


@pytest.mark.parametrize("answers", list(permutations([confirm, answer("o1", name="drop")])))
async def test_a_call_without_a_first_result_is_waited_for_beside_one_that_is_confirmed(
    answers: tuple[Message, Message],
) -> None:
    """T5, T7: the model is asked once, with both results."""
    script = {"clerk": [[call("pay", "p1"), call_drop("o1")], "all there"]}
    process = await Play(lambda p: p.llm("clerk"), script, list(answers)).whole()
    assert (await process.session()).events[-1].text() == "all there"
    contents = process.models["clerk"].requests[-1].contents
    results = [part.function_response.response for part in contents[-1].parts or [] if part.function_response]
    assert results == [{"result": "paid"}, {"status": "delivered"}]
    assert process.ran == ["o1", "p1"]


async def test_a_long_running_call_that_was_cut_off_before_it_ran_is_run() -> None:
    """R1: nothing tells that it ran, so it runs, at least once."""
    play = Play(lambda p: p.llm("clerk"), {"clerk": [call_drop("o1"), "there"]}, [answer("o1", name="drop")])
    whole = await play.whole()
    process = await play.cut_off_after(2, (await whole.session()).events)
    assert process.ran == ["o1"]
    assert (await process.session()).events[-1].text() == "there"


def call_drop(call_id: str) -> types.Part:
    return call("drop", call_id)
