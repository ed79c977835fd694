"""Tokens and cost of a person in a day, and messages that wait (docs/limits.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.tools import AgentTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import LimitExceededError
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.models import Event, Invocation, PersonUsage
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, call
from tests.integration.limits.words_app import ask, using
from tests.integration.locks import blocked, held
from tests.noon import ZONE_AT_NOON
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end", "at_noon")
Configure = Callable[..., None]
TOKENS = f"You have used today's 1000 tokens. Try again after midnight ({ZONE_AT_NOON})."


class EndlessModel(BaseLlm):
    """Begins an answer that has used 600 tokens so far, and never ends it."""

    is_scripted: ClassVar[bool] = True

    model: str = "endless"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield using(300).model_copy(update={"partial": True})
        yield using(600).model_copy(update={"partial": True})
        await asyncio.Event().wait()


async def test_a_person_who_has_used_the_tokens_of_the_day_is_told_until_when(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_tokens_per_user=1000)
    model.turns = [using(999), using(1), using(1)]
    assert await ask(person) == ("completed", "")
    assert await ask(person) == ("completed", "")  # one token was left
    assert await ask(person) == ("failed", TOKENS)  # exactly 1000 are used
    eve = await User.objects.acreate_user("eve")
    assert await ask(eve) == ("completed", "")
    assert model.turns == []


async def test_the_refused_message_is_kept_and_can_be_tried_again_the_next_day(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_tokens_per_user=1000)
    model.turns = [using(1000), using(7)]
    session = await use_cases.create_session(person, "words")
    assert await ask(person, session) == ("completed", "")
    assert (await ask(person, session, "m2"))[0] == "failed"
    log = Event.objects.filter(session=session).order_by("seq")
    assert [event.text or event.body["errorMessage"] async for event in log] == [
        *("hello", "Hm.", "hello"),
        TOKENS,
    ]
    refused = await Invocation.objects.aget(session=session, client_id="m2")
    await use_cases.retry(actors.person(person), session.pk, refused.invocation_id)
    await worker().wait_until_idle()
    assert (await Invocation.objects.aget(pk=refused.pk)).status == "failed"
    await PersonUsage.objects.aupdate(day=F("day") - timedelta(days=1))  # midnight passes
    await use_cases.retry(actors.person(person), session.pk, refused.invocation_id)
    await worker().wait_until_idle()
    assert (await Invocation.objects.aget(pk=refused.pk)).status == "completed"
    assert (await PersonUsage.objects.aget(pk=person.pk)).tokens == 7


async def test_the_tokens_of_an_agent_that_runs_as_a_tool_count(
    person: User, served: Served, configure: Configure
) -> None:
    configure(max_tokens_per_user=1000, prices={"gemini-9": {"input": 1000.0, "output": 1.0}})
    expert = LlmAgent(name="expert", model=ScriptedModel(turns=[using(1000)]))
    words = LlmAgent(
        name="words",
        model=ScriptedModel(turns=[call("expert", request="?"), "Well."]),
        tools=[AgentTool(expert)],
    )
    served(App(name="words", root_agent=words))
    assert await ask(person) == ("completed", "")
    used = await PersonUsage.objects.aget(pk=person.pk)
    assert (used.tokens, used.cost) == (1000, 1.0)
    assert await ask(person) == ("failed", TOKENS)


async def test_the_cost_of_a_day_is_limited(person: User, model: ScriptedModel, configure: Configure) -> None:
    configure(max_cost_per_user=0.5, prices={"gemini-9": {"input": 1000.0, "output": 1.0}})
    model.turns = [using(499), using(1)]
    assert await ask(person) == ("completed", "")
    assert await ask(person) == ("completed", "")
    sentence = f"Today's limit of cost, 0.5, is reached. Try again after midnight ({ZONE_AT_NOON})."
    assert await ask(person) == ("failed", sentence)


@pytest.mark.parametrize("client_id", ["job:1", "schedule:1:1", "answer:1"])
async def test_results_of_jobs_scheduled_tasks_and_answers_are_limited_too_and_kept(
    person: User, model: ScriptedModel, configure: Configure, client_id: str
) -> None:
    configure(max_tokens_per_user=1000)
    model.turns = [using(1000), "Never said."]
    await ask(person)
    session = await use_cases.create_session(person, "words")
    message = {"role": "user", "parts": [{"text": "a result"}]}
    await worker().start(NewInvocation(session.pk, user_id=person.pk, client_id=client_id, message=message))
    await worker().wait_until_idle()
    row = await Invocation.objects.aget(session=session)
    assert (row.status, row.error_message) == ("failed", TOKENS)
    assert (await Event.objects.aget(session=session, seq=1)).text == "a result"


async def test_an_invocation_that_another_process_resumes_ends_and_counts_once(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_tokens_per_user=1000)
    model.turns = [asyncio.Event()]
    session = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    while not model.requests:
        await asyncio.sleep(0.01)
    await PersonUsage.objects.acreate(user=person, tokens=1000, day="2000-01-01")
    await worker().close()
    model.turns = [using(600)]
    await InvocationWorker(live()).run_queue(session.pk)
    assert (await Invocation.objects.aget(session=session)).status == "completed"
    assert (await PersonUsage.objects.aget(pk=person.pk)).tokens == 600


async def test_an_answer_that_is_stopped_counts_what_it_had_used(person: User, served: Served) -> None:
    app = App(name="words", root_agent=LlmAgent(name="words", model=EndlessModel()))
    served(app)
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    while not any(chunk.text == "Hm.Hm." for chunk in live().hub.texts(session.pk)):
        await asyncio.sleep(0.01)
    await use_cases.cancel(actors.person(person), session.pk, invocation_id)
    await worker().wait_until_idle()
    assert (await Invocation.objects.aget(session=session)).status == "cancelled"
    assert (await PersonUsage.objects.aget(pk=person.pk)).tokens == 600


async def test_concurrent_ends_of_two_processes_are_all_counted(person: User, model: ScriptedModel) -> None:
    model.rule = lambda request: using(10)
    processes = [InvocationWorker(live()) for _ in range(2)]
    sessions = [await use_cases.create_session(person, "words") for _ in range(20)]
    message = {"role": "user", "parts": [{"text": "hello"}]}
    await asyncio.gather(
        *(
            processes[number % 2].start(
                NewInvocation(session.pk, user_id=person.pk, client_id="m1", message=message)
            )
            for number, session in enumerate(sessions)
        )
    )
    for process in processes:
        await process.wait_until_idle()
    assert (await PersonUsage.objects.aget(pk=person.pk)).tokens == 200


async def waiting(person: User) -> int:
    return await Invocation.objects.filter(session__user=person, status="queued").acount()


async def test_messages_that_wait_are_limited_over_all_sessions_of_a_person(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_queued_messages_per_user=3)
    end = asyncio.Event()
    model.rule = lambda request: end if "hello" in str(request.contents[-1]) else "again"
    first, second = [await use_cases.create_session(person, "words") for _ in range(2)]
    for client_id in ("m1", "m2", "m3"):
        await use_cases.send_message(actors.person(person), first.pk, client_id, "hello")
    for client_id in ("m1", "m2"):
        await use_cases.send_message(actors.person(person), second.pk, client_id, "hello")
    assert await waiting(person) == 3
    for session in (first, second):
        with pytest.raises(LimitExceededError, match="3 of your messages are waiting to be answered"):
            await use_cases.send_message(actors.person(person), session.pk, "m9", "one more")
    assert (await use_cases.send_message(actors.person(person), first.pk, "m3", "hello"))[
        1
    ] == "queued"  # a repeated one
    third = await use_cases.create_session(person, "words")
    await use_cases.send_message(actors.person(person), third.pk, "m1", "this one does not wait")
    result: dict[str, Any] = {"role": "user", "parts": [{"text": "a result"}]}
    await worker().start(NewInvocation(first.pk, user_id=person.pk, client_id="job:1", message=result))
    assert await waiting(person) == 4
    end.set()
    await worker().wait_until_idle()
    assert await ask(person, first, "m9") == ("completed", "")


async def test_messages_sent_in_the_same_instant_wait_for_each_others_count(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    """The other message is a transaction that has counted, and added its row, but is not committed."""
    configure(max_queued_messages_per_user=1)
    end = asyncio.Event()
    model.rule = lambda request: end
    first, second = [await use_cases.create_session(person, "words") for _ in range(2)]
    for session in (first, second):
        await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    other_message = f"""
        SELECT adk_queue_is_full('{first.pk}', 1);
        INSERT INTO sessions_app_invocation (session_id, invocation_id, client_id, message, attempts)
        VALUES ('{first.pk}', 'e-other', 'm2', '{{"parts": []}}', 1)"""
    async with held(other_message):
        sending = asyncio.create_task(
            use_cases.send_message(actors.person(person), second.pk, "m2", "one more")
        )
        await blocked(1)
    with pytest.raises(LimitExceededError):
        await sending
    assert await waiting(person) == 1
    await Invocation.objects.filter(invocation_id="e-other").adelete()
    end.set()
    await worker().wait_until_idle()


async def test_messages_sent_in_the_same_instant_are_limited_too(
    person: User, model: ScriptedModel, configure: Configure
) -> None:
    configure(max_queued_messages_per_user=5)
    end = asyncio.Event()
    model.rule = lambda request: end
    sessions = [await use_cases.create_session(person, "words") for _ in range(4)]
    for session in sessions:
        await use_cases.send_message(actors.person(person), session.pk, "m0", "hello")
    sent = [
        use_cases.send_message(actors.person(person), session.pk, f"m{number}", "hello")
        for number in range(1, 6)
        for session in sessions
    ]
    answers = await asyncio.gather(*sent, return_exceptions=True)
    assert sum(isinstance(answer, LimitExceededError) for answer in answers) == 15
    assert await waiting(person) == 5
    end.set()
