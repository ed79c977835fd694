"""Task agents: sub-agents that work for their parent, and talk to the person on the way (contract A11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from runtime import types
from runtime.agents import LlmAgent
from runtime.agents.base_agent import BaseAgent
from runtime.events import Event
from runtime.runners import InMemoryRunner
from runtime.tools import FunctionTool
from tests.fakes import ScriptedModel, Turn, call, requests_of
from tests.unit.runtime.conversation import Conversation, answer_to, outline


class Booking(BaseModel):
    place: str
    seats: int


def agent(name: str, *turns: Turn, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(turns=list(turns)), **fields)


def texts(agent: BaseAgent, number: int) -> list[str]:
    """Return the texts, calls and responses that the model was sent in its request of this number."""
    found = []
    for content in requests_of(agent)[number].contents:
        for part in content.parts or []:
            if part.function_call:
                found.append(f"{part.function_call.name}()")
            elif part.function_response:
                found.append(f"={part.function_response.response}")
            else:
                found.append(part.text or "")
    return found


def booked(**result: Any) -> types.Part:
    return call("finish_task", "f1", **result)


async def test_a_single_turn_agent_is_a_tool_in_the_same_session() -> None:
    poet = agent("poet", "Roses.", mode="single_turn", description="Writes poems.")
    root = agent("root", call("poet", "c1", request="of roses"), "Here: Roses.", sub_agents=[poet])
    conversation = Conversation(root)
    events = await conversation.say("A poem, please.")
    assert outline(events) == ["root: poet()", "poet: Roses.", "root: =poet", "root: Here: Roses."]
    assert texts(poet, 0) == ["of roses"]
    assert texts(root, 1) == ["A poem, please.", "poet()", "={'result': 'Roses.'}"]
    assert len((await conversation.session()).events) == 5


async def test_single_turn_agents_work_at_once_each_on_its_own() -> None:
    poet = agent("poet", "one", "two", mode="single_turn")
    calls = [call("poet", "c1", request="1"), call("poet", "c2", request="2")]
    root = agent("root", calls, "Done.", sub_agents=[poet])
    events = await Conversation(root).say("go")
    assert [texts(poet, number) for number in (0, 1)] == [["1"], ["2"]]
    assert sorted(event.isolation_scope or "" for event in events) == ["", "", "", "c1", "c2"]
    paths = {event.node_info.path for event in events if event.node_info}
    assert len(paths) == 2
    [answer] = [event for event in events if event.get_function_responses()]
    assert [response.id for response in answer.get_function_responses()] == ["c1", "c2"]


async def test_a_task_agent_talks_to_the_person_until_it_finishes() -> None:
    booker = agent(
        "booker", "For how many?", booked(place="Roma", seats=4), mode="task", output_schema=Booking
    )
    root = agent(
        "root", call("booker", "c1", request="a table"), "Booked!", "You are welcome.", sub_agents=[booker]
    )
    conversation = Conversation(root)
    assert outline(await conversation.say("Book a table.")) == ["root: booker()", "booker: For how many?"]
    assert outline(await conversation.say("Four.")) == [
        "booker: finish_task()",
        "booker: =finish_task",
        "root: =booker",
        "root: Booked!",
    ]
    assert texts(booker, 1) == ['{"request": "a table"}', "For how many?", "Four."]
    assert texts(root, 1) == ["Book a table.", "booker()", "={'place': 'Roma', 'seats': 4}"]
    assert outline(await conversation.say("Thanks.")) == ["root: You are welcome."]
    assert texts(root, 2)[-2:] == ["Booked!", "Thanks."]


async def test_a_wrong_result_goes_back_to_the_task_agent() -> None:
    right = booked(place="Roma", seats=2)
    booker = agent(
        "booker", booked(place="Roma"), right, mode="task", output_schema=Booking, output_key="booking"
    )
    root = agent("root", call("booker", "c1", request="a table"), "Booked.", sub_agents=[booker])
    conversation = Conversation(root)
    events = await conversation.say("go")
    [refused, accepted] = [
        event for event in events if event.author == "booker" and event.get_function_responses()
    ]
    assert "seats" in str(refused.get_function_responses()[0].response)
    assert accepted.output == {"place": "Roma", "seats": 2}
    assert (await conversation.session()).state == {"booking": {"place": "Roma", "seats": 2}}


async def test_tasks_of_one_response_run_one_after_another() -> None:
    first = agent("first", "First?", booked(result="1"), mode="task")
    second = agent("second", "Second?", booked(result="2"), mode="task")
    calls = [call("first", "c1", request="a"), call("second", "c2", request="b")]
    root = agent("root", calls, "Both.", sub_agents=[first, second])
    conversation = Conversation(root)
    assert outline(await conversation.say("go"))[-1] == "first: First?"
    assert outline(await conversation.say("one"))[-1] == "second: Second?"
    assert outline(await conversation.say("two"))[-1] == "root: Both."
    assert texts(second, 1) == ['{"request": "b"}', "Second?", "two"]
    assert texts(root, 1)[-2:] == ["={'result': '1'}", "={'result': '2'}"]


async def test_a_task_agent_gives_tasks_itself() -> None:
    inner = agent("inner", "Really?", booked(result="deep"), mode="task")
    outer = agent(
        "outer", call("inner", "c2", request="x"), booked(result="done"), mode="task", sub_agents=[inner]
    )
    root = agent("root", call("outer", "c1", request="y"), "End.", sub_agents=[outer])
    conversation = Conversation(root)
    assert outline(await conversation.say("go"))[-1] == "inner: Really?"
    assert outline(await conversation.say("yes"))[-1] == "root: End."
    assert texts(outer, 1)[-1] == "={'result': 'deep'}"


async def test_a_question_of_an_agent_at_work_is_answered_in_the_same_invocation() -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    tool = FunctionTool(pay, require_confirmation=True)
    payer = agent("payer", call("pay", "p1", amount=3), "I paid.", mode="single_turn", tools=[tool])
    root = agent("root", call("payer", "c1", request="pay"), "Paid.", sub_agents=[payer])
    conversation = Conversation(root)
    question = (await conversation.say("go"))[-1]
    events = await conversation.say(answer_to(question, {"confirmed": True}))
    assert {event.invocation_id for event in events} == {question.invocation_id}
    assert outline(events)[-3:] == ["payer: I paid.", "root: =payer", "root: Paid."]
    assert paid == [3]
    # The agent knows its task after the answer, too.
    assert requests_of(payer)[-1].contents[0].parts == requests_of(payer)[0].contents[0].parts


async def test_agents_at_work_are_no_targets_of_transfers() -> None:
    poet = agent("poet", "Roses.", mode="single_turn")
    clerk = agent("clerk", "Hello.")
    root = agent("root", "Yes?", sub_agents=[poet, clerk])
    await Conversation(root).say("go")
    [request] = requests_of(root)
    assert "poet" in request.tools_dict
    declaration = request.tools_dict["transfer_to_agent"]._get_declaration()
    assert "poet" not in str(declaration)


async def test_a_task_agent_may_be_the_root() -> None:
    root = agent("root", "How many?", booked(place="Roma", seats=1), mode="task", output_schema=Booking)
    conversation = Conversation(root)
    assert outline(await conversation.say("A table."))[-1] == "root: How many?"
    events = await conversation.say("One.")
    assert events[-1].output == {"place": "Roma", "seats": 1}
    assert texts(root, 1) == ["A table.", "How many?", "One."]


async def test_an_interrupted_task_continues_where_it_was() -> None:
    """Each event once, and the same end, in whatever event the process died."""

    def make(log: Sequence[Event]) -> LlmAgent:
        def left(author: str, *turns: Turn) -> list[Turn]:
            given = [
                event
                for event in log
                if event.author == author and event.content and event.content.role == "model"
            ]
            return list(turns)[len(given) :]

        poet = agent("poet", *left("poet", "Roses."), mode="single_turn")
        booker = agent(
            "booker",
            *left("booker", "How many?", call("poet", "c2", request="p"), booked(result="4 seats")),
            mode="task",
            sub_agents=[poet],
        )
        return agent("root", *left("root", call("booker", "c1", request="a"), "Booked."), sub_agents=[booker])

    conversation = Conversation(make([]))
    first = await conversation.say("Book.")
    await conversation.say("Four.")
    whole = (await conversation.session()).events
    begin = next(
        number for number, event in enumerate(whole) if event.invocation_id != first[0].invocation_id
    )
    for count in range(begin + 1, len(whole) + 1):
        runner = InMemoryRunner(make(whole[:count]), app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="ada")
        for event in whole[:count]:
            await runner.session_service.append_event(session, event)
        resumed = runner.run_async(
            user_id="ada", session_id=session.id, invocation_id=whole[begin].invocation_id
        )
        rest = [event async for event in resumed]
        assert outline([*whole[:count], *rest]) == outline(whole), count


async def test_an_exception_of_an_agent_at_work_fails_the_call() -> None:
    poet = agent("poet", RuntimeError("secret"), mode="single_turn")
    root = agent("root", call("poet", "c1", request="x"), sub_agents=[poet])
    conversation = Conversation(root)
    with pytest.raises(RuntimeError, match="secret"):
        await conversation.say("go")
    assert "secret" not in str((await conversation.session()).events[-1].content)


async def test_the_agent_that_has_given_the_task_gets_its_result_though_others_get_messages() -> None:
    booker = agent("booker", "How many?", call("finish_task", "f1", result="4"), mode="task")
    clerk = agent(
        "clerk",
        call("booker", "c1", request="a"),
        "Booked.",
        sub_agents=[booker],
        disallow_transfer_to_parent=True,
    )
    root = agent("root", call("transfer_to_agent", "t1", agent_name="clerk"), sub_agents=[clerk])
    conversation = Conversation(root)
    assert outline(await conversation.say("Book."))[-1] == "booker: How many?"
    assert outline(await conversation.say("Four."))[-1] == "clerk: Booked."
