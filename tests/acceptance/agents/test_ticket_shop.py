"""The ticket shop: a choice pauses the invocation, another process sells (contract T5, T9, R1, S4)."""

from __future__ import annotations

from tests.acceptance.agents.stage import Stage, answer
from tests.acceptance.agents.ticket_shop import app
from tests.fakes import call


async def test_the_chosen_seat_is_sold_once() -> None:
    stage = Stage(
        app=app,
        box_office=[
            call("free_seats"),
            call("get_user_choice", options=["A1", "A2", "B1"]),
            call("sell", seat="A2"),
            "Enjoy the play.",
            call("sell", seat="A2"),
            "Sold out, sorry.",
        ],
    )
    await stage.open("ada")
    asked = await stage.say("A ticket, please", "ada")
    [choice] = asked[2].get_function_calls()
    assert asked[2].long_running_tool_ids == {choice.id}
    stage.new_process()
    sold = await stage.say(answer(choice, result="A2"), "ada")
    assert {event.invocation_id for event in sold} == {asked[0].invocation_id}
    assert sold[-1].text() == "Enjoy the play."
    await stage.open("later")
    refused = await stage.say("A2 for me, too", "later")
    assert refused[1].get_function_responses()[0].response == {"error": "Seat A2 is not free."}
