"""Agents of the site, served by A2A to the reference client: a task is an invocation with its calls and jobs."""

from __future__ import annotations

import asyncio
import os
import re
import sys

import pytest
from a2a.client import Client
from a2a.types import (
    GetTaskRequest,
    Part,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import (
    InvalidParamsError,
    UnsupportedOperationError,
)
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from adk_site.embedded.paths import CHECKOUT
from runtime.models import LlmResponse
from runtime.tools import FunctionTool, LongRunningFunctionTool, get_user_choice
from sessions_app.models import Artifact, Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.integration.api.conftest import make_key
from tests.integration.contrib.a2a.conftest import APP, program_of
from tests.integration.contrib.a2a.talk import apply_all, items, message, question_of, say, state_of, text_of
from tests.served_agents import Served, asking_workflow


def refund(euros: int, note: str) -> str:
    """Refund an amount."""
    return f"{euros} refunded"


async def test_a_message_is_answered(program: Client, model: ScriptedModel, person: User) -> None:
    model.turns.append("Good day.")
    task = await say(program, "Hello")
    assert (state_of(task), text_of(task)) == ("completed", "Good day.")
    row = await Invocation.objects.select_related("session__user").aget()
    assert (row.invocation_id, str(row.session_id)) == (task.id, task.context_id)
    assert (row.session.user, row.session.app_name) == (person, "desk")


async def test_a_message_is_answered_without_streaming(person: User, site: str, model: ScriptedModel) -> None:
    model.turns.append("Good day.")
    async with program_of(person, site, streaming=False) as program:
        [item] = await items(program, message("Hello"))
    assert (state_of(item.task), text_of(item.task)) == ("completed", "Good day.")
    assert [part.text for part in item.task.history[0].parts] == ["Hello"]


async def test_the_program_of_the_page_asks_an_agent(site: str, model: ScriptedModel, person: User) -> None:
    page = (CHECKOUT / "docs" / "a2a.md").read_text()
    [code] = re.findall(r"^```python\n(# ask_agent_client\.py\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    key = await sync_to_async(make_key)(person)

    async def ask(key: str) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code.replace("help_desk", APP),
            cwd=CHECKOUT,
            env={**os.environ, "SITE": site, "KEY": key},
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
        return printed.decode()

    model.turns.append("It is on its way.")
    assert await ask(key) == "It is on its way.\n"
    assert "refused the request" in await ask("adk_wrong")


async def test_a_context_is_a_session(program: Client, model: ScriptedModel) -> None:
    model.turns += ["One.", "Two."]
    first = await say(program, "a")
    second = await say(program, message("b", context_id=first.context_id))
    assert first.context_id == second.context_id and first.id != second.id
    assert await Session.objects.acount() == 1
    assert len(model.requests[1].contents) == 3


async def test_a_message_that_is_sent_again_begins_nothing(program: Client, model: ScriptedModel) -> None:
    model.turns.append("Once.")
    said = message("Hello")
    first, second = await say(program, said), await say(program, said)
    assert (first.id, text_of(first)) == (second.id, text_of(second))
    assert await Invocation.objects.acount() == 1


async def test_a_program_may_leave_and_ask_for_the_task_later(program: Client, model: ScriptedModel) -> None:
    model.turns.append("Later.")
    request = SendMessageRequest(
        message=message("Hello"), configuration=SendMessageConfiguration(return_immediately=True)
    )
    stream = program.send_message(request)
    begun = (await anext(stream)).task
    await stream.aclose()  # type: ignore[attr-defined]
    try:
        task = await apply_all(program.subscribe(SubscribeToTaskRequest(id=begun.id)))
    except UnsupportedOperationError:  # It has ended meanwhile.
        task = await program.get_task(GetTaskRequest(id=begun.id))
    assert (state_of(task), text_of(task)) == ("completed", "Later.")
    task = await program.get_task(GetTaskRequest(id=begun.id, history_length=0))
    assert (text_of(task), len(task.history)) == ("Later.", 0)


@pytest.mark.parametrize("tools", [[FunctionTool(refund, require_confirmation=True)]])
@pytest.mark.parametrize(("answer", "response"), [("Yes.", "5 refunded"), ("no", "rejected")])
async def test_a_confirmation_is_input_required_and_a_word_answers_it(
    program: Client, model: ScriptedModel, answer: str, response: str
) -> None:
    model.turns += [call("refund", euros=5, note="\u202eall"), "Done."]
    asked = await say(program, "Refund me")
    assert (state_of(asked), question_of(asked)) == (
        "input_required",
        'May refund run with these arguments? (yes or no)\nrefund: {"euros": 5, "note": "\\u202eall"}',
    )
    with pytest.raises(InvalidParamsError, match="yes or no"):
        await say(program, message("maybe", task_id=asked.id))
    task = await say(program, message(answer, task_id=asked.id, context_id=asked.context_id))
    assert (task.id, state_of(task), text_of(task)) == (asked.id, "completed", "Done.")
    assert response in str(model.requests[-1].contents[-1])
    with pytest.raises(UnsupportedOperationError, match="has ended"):
        await say(program, message("yes", task_id=asked.id))


def order(item: str) -> None:
    """Order an item; the supplier answers later."""


@pytest.mark.parametrize("tools", [[LongRunningFunctionTool(order, answered_by="person")]])
@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ("Yes.", {"status": "approved"}),
        ("no", {"status": "rejected"}),
        ("On Monday", {"result": "On Monday"}),
    ],
)
async def test_a_long_running_call_of_a_project_is_approved_or_rejected_by_a_word(
    program: Client, model: ScriptedModel, answer: str, response: dict[str, str]
) -> None:
    model.turns += [call("order", item="lamp"), "Done."]
    asked = await say(program, "A lamp")
    assert question_of(asked) == "lamp (yes or no)"
    task = await say(program, message(answer, task_id=asked.id))
    assert (state_of(task), text_of(task)) == ("completed", "Done.")
    row = await Invocation.objects.aget(client_id__startswith="answer:")
    assert row.message["parts"][0]["functionResponse"]["response"] == response


@pytest.mark.parametrize("tools", [[get_user_choice]])
async def test_a_choice_is_answered_by_one_of_its_options(program: Client, model: ScriptedModel) -> None:
    model.turns += [call("get_user_choice", options=["tea", "milk"]), "Enjoy."]
    asked = await say(program, "Thirsty")
    assert question_of(asked) == "Choose one: tea, milk"
    with pytest.raises(InvalidParamsError, match="tea, milk"):
        await say(program, message("beer", task_id=asked.id))
    task = await say(program, message("tea", task_id=asked.id))
    assert (state_of(task), text_of(task)) == ("completed", "Enjoy.")


async def test_the_question_of_a_workflow_is_answered_by_a_text_that_fits(
    program: Client, served: Served
) -> None:
    served(asking_workflow(APP))
    asked = await say(program, "Refund me")
    assert state_of(asked) == "input_required" and "How many?" in question_of(asked)
    with pytest.raises(InvalidParamsError, match="does not fit the question"):
        await say(program, message("some", task_id=asked.id))
    task = await say(program, message("3", task_id=asked.id))
    assert (task.id, state_of(task), text_of(task)) == (asked.id, "completed", "'3' it is")


async def test_a_task_that_fails_says_so(program: Client, model: ScriptedModel) -> None:
    model.turns.append(LlmResponse(error_code="UNAVAILABLE", error_message="The model is overloaded."))
    task = await say(program, "Hello")
    assert (state_of(task), question_of(task)) == ("failed", "The model is overloaded.")


async def test_files_and_data_are_part_of_the_message(program: Client, model: ScriptedModel) -> None:
    model.turns.append("Read.")
    file = Part(raw=b"a,b\n1,2\n", filename="../t.csv", media_type="text/csv")
    data = Part()
    data.data.struct_value.update({"n": 1})
    task = await say(program, message("read", file, data))
    assert state_of(task) == "completed"
    stored = await Artifact.objects.aget()
    assert (stored.filename, stored.size) == ("t.csv", 8)
    said = str(model.requests[0].contents)
    assert "a,b" in said and '\\"n\\": 1' in said.replace('"n"', '\\"n\\"')


async def test_the_files_of_a_message_that_is_sent_again_are_stored_once(
    program: Client, model: ScriptedModel
) -> None:
    model.turns += ["Read.", "Read too."]
    file = Part(raw=b"a,b", filename="t.csv", media_type="text/csv")
    said = message("read", file)
    first, second = await say(program, said), await say(program, said)
    assert (first.id, text_of(first)) == (second.id, text_of(second))
    further = message(file, context_id=first.context_id)
    third, fourth = await say(program, further), await say(program, further)
    assert (third.id, text_of(third)) == (fourth.id, "Read too.")
    assert await Artifact.objects.acount() == 2
