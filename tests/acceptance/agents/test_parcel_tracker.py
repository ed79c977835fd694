"""The parcel tracker: a failing tool is tried again, and fails the invocation at last (contract T4, C4, L5)."""

from __future__ import annotations

import pytest

from tests.acceptance.agents.parcel_tracker import app
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_the_model_corrects_its_call() -> None:
    stage = Stage(app=app, tracker=[call("track", number="17"), call("track", number="P17"), "In Leipzig."])
    await stage.open()
    events = await stage.say("Where is 17?")
    advice, found = [event.get_function_responses()[0].response for event in events[1:4:2]]
    assert advice and "begins with P" in str(advice)
    assert found == {"number": "P17", "place": "Leipzig"}
    assert events[-1].text() == "In Leipzig."


async def test_the_second_failure_ends_the_invocation_and_the_session_goes_on() -> None:
    stage = Stage(app=app, tracker=[call("track", number="17"), call("track", number="18"), "Hello again."])
    await stage.open()
    with pytest.raises(ValueError, match="begins with P"):
        await stage.say("Where is 17?")
    assert (await stage.stored()).events[-1].error_code == "ValueError"
    assert (await stage.say("Hello?"))[-1].text() == "Hello again."
