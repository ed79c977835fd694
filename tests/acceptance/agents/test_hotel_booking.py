"""The hotel clerk: a predicate decides which bookings a person confirms (contract T7, S6, A3)."""

from __future__ import annotations

from tests.acceptance.agents.hotel_booking import root_agent
from tests.acceptance.agents.stage import Stage, answer
from tests.fakes import call


async def test_a_small_booking_needs_no_confirmation_and_a_large_one_does() -> None:
    stage = Stage(
        root_agent,
        hotel_clerk=[
            call("book", room="single", nights=2),
            "Two nights for 180.",
            call("book", room="suite", nights=2),
            "Two nights in the suite for 840.",
        ],
    )
    await stage.open()
    small = await stage.say("A single for two nights")
    assert small[-1].text() == "Two nights for 180."
    asked = await stage.say("And a suite for my parents")
    [request] = asked[-1].get_function_calls()
    assert request.name == "adk_request_confirmation"
    assert [booking["room"] for booking in (await stage.stored()).state["bookings"]] == ["single"]
    stage.new_process()
    confirmed = await stage.say(answer(request, confirmed=True))
    assert confirmed[-1].text() == "Two nights in the suite for 840."
    assert [booking["total"] for booking in (await stage.stored()).state["bookings"]] == [180, 840]
    assert "'room': 'suite'" in stage.instruction("hotel_clerk")


async def test_a_refused_booking_changes_nothing() -> None:
    stage = Stage(root_agent, hotel_clerk=[call("book", room="suite", nights=2), "Then I will not."])
    await stage.open()
    asked = await stage.say("The suite for two nights")
    refused = await stage.say(answer(asked[-1].get_function_calls()[0], confirmed=False))
    assert refused[-1].text() == "Then I will not."
    assert "bookings" not in (await stage.stored()).state
