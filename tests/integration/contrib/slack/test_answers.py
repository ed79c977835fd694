"""Buttons are a view of the recorded question: the first answer counts, wherever it is given.

`make chaos` lets 1,000 answers race for it, by RACES in the environment.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import FunctionTool, LongRunningFunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.contrib.slack.incoming import answer_question
from sessions_app.errors import ConflictError
from sessions_app.invocations.answers.outside_chat import answer_request
from sessions_app.invocations.worker import worker
from sessions_app.jobs import ask, job_tool
from sessions_app.models import AnswerRequest, Invocation, LinkedAccount, Session, ToolJob
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.slack.conftest import post_news
from tests.integration.jobs.job_helpers import run_task
from tests.slack_server import SlackClient, SlackServer

RACES = int(os.environ.get("RACES", "200"))
RACES_PER_SESSION = 40
LATEST_BEGIN = 0.02
"""Seconds in which the answers of a race begin: about as long as an answer takes, so that each may win."""


def refund(euros: int, note: str = "") -> str:
    """Refund an amount."""
    return f"{euros} refunded"


def order(item: str) -> None:
    """Order an item; the supplier answers later."""


@job_tool()
def send_report() -> dict[str, Any]:
    """Send the report."""
    language = ask("In which language?", ["English", "German"])
    return {"summary": f"Sent in {language} to {ask('To whom?')}."}


@pytest.fixture
def tools() -> list[Any]:
    return [
        FunctionTool(refund, require_confirmation=True),
        send_report,
        LongRunningFunctionTool(order, answered_by="person"),
    ]


async def test_an_approval_is_given_by_a_button_which_then_disappears(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel
) -> None:
    model.turns += [call("refund", euros=5, note="<!here>\u202e"), "It is done."]
    await ada.say("Refund 5 euros")
    await post_news()
    [message] = slack.messages
    asked = message["blocks"][0]["text"]
    assert asked["type"] == "plain_text" and "\\u202e" in asked["text"] and "<" not in message["text"]
    assert (await ada.press(message, "yes")).status_code == 200
    assert slack.buttons == []
    assert message["blocks"][0]["text"] == asked
    assert message["blocks"][-1]["text"]["text"] == "ada: yes"
    await ada.press({**message, "blocks": slack.calls[0][1]["blocks"]}, "no")  # a tab that is behind
    await post_news()
    assert slack.texts == ["It is done."]
    assert "approved already" in message["blocks"][-1]["text"]["text"]
    answers = [row async for row in Invocation.objects.filter(client_id__startswith="answer:")]
    assert len(answers) == 1 and answers[0].message["parts"][0]["functionResponse"]["response"]["confirmed"]


async def test_a_long_running_call_of_a_project_is_answered_by_a_button(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel
) -> None:
    model.turns += [call("order", item="lamp"), "It is ordered."]
    await ada.say("A lamp")
    await post_news()
    labels = [element["text"]["text"] for element in slack.buttons[0]["elements"]]
    assert labels == ["yes", "no"]
    await ada.press(slack.messages[-1], "no")
    await post_news()
    answer = await Invocation.objects.aget(client_id__startswith="answer:")
    assert answer.message["parts"][0]["functionResponse"]["response"] == {"status": "rejected"}


async def test_an_answer_in_the_chat_removes_the_buttons(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, person: User
) -> None:
    model.turns += [call("refund", euros=5), "It is not done."]
    await ada.say("Refund 5 euros")
    await post_news()
    [block] = slack.buttons
    session = await Session.objects.aget()
    call_id = block["block_id"].removeprefix("call:")
    by = actors.person(person)
    await use_cases.answer_call(by, session.pk, call_id, REQUEST_CONFIRMATION, {"confirmed": False})
    await post_news()
    assert slack.buttons == [] and slack.texts == ["It is not done."]
    assert slack.messages[0]["blocks"][-1]["text"]["text"] == "This was answered already."


async def test_only_the_person_who_is_asked_can_press(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, site: str
) -> None:
    model.turns.append(call("refund", euros=5))
    await ada.say("Refund 5 euros")
    await post_news()
    other = SlackClient(site, user="U2")
    await other.press(slack.messages[0], "yes")
    assert "link your Slack account" in slack.whispers[-1]["text"]
    bob = await User.objects.acreate_superuser("bob")
    await LinkedAccount.objects.acreate(user=bob, service="slack", place="T1", account="U2", name="bob")
    await other.press(slack.messages[0], "yes")
    assert slack.whispers[-1]["text"] == "This question is for somebody else."
    assert len(slack.buttons) == 1 and await Invocation.objects.acount() == 1


async def test_a_job_asks_and_reports_back_and_a_text_is_answered_in_a_field(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    model.turns += [call("send_report"), "It runs.", "The report is sent."]
    await ada.say("Report, please")
    await worker().wait_until_idle()
    job = await ToolJob.objects.aget()
    await in_thread(run_task, job)
    await post_news()
    assert slack.texts == ["It runs."]
    labels = [element["text"]["text"] for element in slack.buttons[0]["elements"]]
    assert labels == ["English", "German"]
    await ada.press(slack.messages[-1], "German")
    await in_thread(run_task, job)
    await post_news()
    assert slack.messages[-1]["blocks"][0]["text"]["text"] == "To whom?"
    await ada.press(slack.messages[-1], "Everybody")
    await in_thread(run_task, job)
    row = await Invocation.objects.aget(client_id__startswith="job:")
    await worker().run_queue(row.session_id)
    await post_news()
    await job.arefresh_from_db()
    assert job.result == {"summary": "Sent in German to Everybody."}
    assert slack.texts == ["It runs.", "The report is sent."] and slack.buttons == []


async def test_of_many_races_between_slack_the_chat_and_the_inbox_of_staff_each_has_one_winner(
    ada: SlackClient, model: ScriptedModel, person: User, settings: Settings
) -> None:
    settings.ADK = {**settings.ADK, "max_queued_messages_per_user": 0}
    by = actors.person(person)
    staff = await User.objects.acreate_superuser("grace")
    by_staff = actors.staff(staff, "::1")
    ways = (
        lambda request: answer_question(by, request.session, f"call:{request.call_id}", "no"),
        lambda request: use_cases.answer_call(
            by, request.session_id, request.call_id, REQUEST_CONFIRMATION, {"confirmed": True}
        ),
        lambda request: answer_request(request, True, by=by_staff, reason="Yes", user=staff),
    )
    won = [0, 0, 0]
    random = Random(35)

    async def begin_soon(way: Any, request: AnswerRequest) -> None:
        await asyncio.sleep(random.uniform(0, LATEST_BEGIN))
        await way(request)

    threads = []
    for number in range(RACES // RACES_PER_SESSION):
        model.turns[:] = [[call("refund", euros=euro) for euro in range(RACES_PER_SESSION)]]
        thread = await ada.say(f"Refund, {number}")
        await worker().wait_until_idle()
        threads.append(thread)
    model.turns[:] = [asyncio.Event() for _ in threads]
    for thread in threads:
        await ada.say("Wait", thread)  # While this runs, answers are queued only.
    async for session in Session.objects.all():
        asked = [request async for request in session.answer_requests.select_related("session", "job")]
        assert len(asked) == RACES_PER_SESSION
        for number, request in enumerate(asked):
            racing: list[Awaitable[None]] = [begin_soon(way, request) for way in ways]
            has_head_start = number < len(ways)
            if has_head_start:  # so that each way wins at least once a session, however fast the others are
                ahead = asyncio.ensure_future(racing[number])
                racing[number] = ahead
                await asyncio.wait([ahead])
            results = await asyncio.gather(*racing, return_exceptions=True)
            lost = [isinstance(result, ConflictError) for result in results]
            assert sorted(lost) == [False, True, True], results
            winner = lost.index(False)
            if has_head_start:
                assert winner == number
            won[winner] += 1
        answers = Invocation.objects.filter(session=session, client_id__startswith="answer:")
        assert await answers.acount() == RACES_PER_SESSION
    assert sum(won) == RACES and min(won) >= len(threads)
