"""Allowances on the site: only the owner gives and withdraws them, and they survive other processes (contract T7)."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.urls import reverse

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.apps.app import EventsCompactionConfig
from runtime.events.calls import REQUEST_CONFIRMATION
from runtime.tools import FunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.chat.consumers import ChatConsumer
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.invocations.answers.allowances import allowances_of
from sessions_app.invocations.worker import worker
from sessions_app.jobs import as_job
from sessions_app.models import Event, Session, ToolJob
from sessions_app.process.threads import in_thread
from sessions_app.store import history_cache
from tests.fakes import ScriptedModel, call
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
ALLOW = {"confirmed": True, "forSession": True}


class Bank:
    """A tool that records its executions, and its model."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.model = ScriptedModel()

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        return f"paid {amount}"

    def serve(self, served: Served, *, offers: bool = True, **settings: Any) -> None:
        tool = FunctionTool(self.pay, require_confirmation=True, may_allow_for_session=offers)
        app = App(name="bank", root_agent=LlmAgent(name="bank", model=self.model, tools=[tool]), **settings)
        served(app)


@pytest.fixture
def bank(served: Served) -> Bank:
    made = Bank()
    made.serve(served)
    return made


async def pay(person: User, session: Session, bank: Bank, amount: int) -> str:
    """Let the model pay; return the id of the open question, empty without one."""
    bank.model.turns = [call("pay", amount=amount), "Paid."]
    await use_cases.send_message(actors.person(person), session.pk, f"m{amount}", f"pay {amount}")
    await worker().wait_until_idle()
    last = await Event.objects.filter(session=session).alatest("seq")
    asked = last.body["content"]["parts"][0].get("functionCall") or {}
    return str(asked.get("id", ""))


async def answer(person: User, session: Session, call_id: str, response: dict[str, Any]) -> None:
    await use_cases.answer_call(actors.person(person), session.pk, call_id, REQUEST_CONFIRMATION, response)
    await worker().wait_until_idle()


async def allowed(person: User, bank: Bank) -> Session:
    """Return a session in which the person has allowed the tool."""
    session = await use_cases.create_session(person, "bank")
    await answer(person, session, await pay(person, session, bank, 1), ALLOW)
    return session


async def test_an_allowance_counts_in_a_process_that_has_only_the_log(person: User, bank: Bank) -> None:
    session = await allowed(person, bank)
    history_cache.cache.forget(("bank", str(person.pk), session.key))
    assert await pay(person, session, bank, 2) == ""
    assert bank.paid == [1, 2]


async def test_a_withdrawn_allowance_counts_no_more_and_both_are_events(person: User, bank: Bank) -> None:
    session = await allowed(person, bank)
    await use_cases.withdraw_allowance(actors.person(person), session.pk, "bank", "pay")
    withdrawal = await Event.objects.filter(session=session).alatest("seq")
    assert withdrawal.author == "user"
    assert withdrawal.body["customMetadata"] == {"adk_withdrawn_allowance": {"agent": "bank", "tool": "pay"}}
    assert await pay(person, session, bank, 2)
    assert bank.paid == [1]
    with pytest.raises(NotFoundError, match="the agent asks you before each call"):
        await use_cases.withdraw_allowance(actors.person(person), session.pk, "bank", "pay")


async def test_a_withdrawal_stays_after_a_rewind_and_an_allowance_does_not(person: User, bank: Bank) -> None:
    session = await allowed(person, bank)
    assert await pay(person, session, bank, 2) == ""
    await use_cases.withdraw_allowance(actors.person(person), session.pk, "bank", "pay")
    messages = [event async for event in Event.objects.filter(session=session, author="user", kind="message")]
    first, second = (message.invocation_id for message in messages)
    for invocation_id in (second, first):
        bank.model.turns = [call("pay", amount=3), "Paid."]
        await use_cases.edit_message(
            actors.person(person), session.pk, f"e-{invocation_id}", "pay 3", invocation_id
        )
        await worker().wait_until_idle()
        last = await Event.objects.filter(session=session).alatest("seq")
        assert last.body["content"]["parts"][0]["functionCall"]["name"] == REQUEST_CONFIRMATION
    assert bank.paid == [1, 2]


async def test_an_allowance_counts_after_a_summary(person: User, bank: Bank, served: Served) -> None:
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0)
    bank.serve(served, events_compaction_config=config)
    session = await use_cases.create_session(person, "bank")
    call_id = await pay(person, session, bank, 1)
    bank.model.turns = ["Paid.", "A summary."]
    await answer(person, session, call_id, ALLOW)
    await asyncio.gather(*worker()._background_tasks)
    assert [given.session for given in await in_thread(allowances_of, person)] == [session]
    compaction = "body__actions__compaction__isnull"
    assert await Event.objects.filter(**{"session": session, compaction: False}).acount() == 1
    bank.model.turns = [call("pay", amount=2), "Paid.", "A summary."]
    await use_cases.send_message(actors.person(person), session.pk, "m2", "pay 2")
    await worker().wait_until_idle()
    assert bank.paid == [1, 2]


async def test_an_answer_that_allows_more_than_was_offered_is_refused_and_stores_nothing(
    person: User, bank: Bank, served: Served
) -> None:
    bank.serve(served, offers=False)
    session = await use_cases.create_session(person, "bank")
    call_id = await pay(person, session, bank, 1)
    before = await Event.objects.filter(session=session).acount()
    with pytest.raises(InvalidInputError, match="does not offer to allow later calls"):
        await answer(person, session, call_id, ALLOW)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        await answer(person, session, call_id, {"confirmed": "perhaps", "forSession": [1]})
    assert await Event.objects.filter(session=session).acount() == before
    await answer(person, session, call_id, {"confirmed": True})
    with pytest.raises(ConflictError, match="approved already by ada"):
        await answer(person, session, call_id, {"confirmed": True})
    assert bank.paid == [1]


async def test_a_tool_whose_calls_are_jobs_may_be_allowed_too(
    person: User, bank: Bank, broker: list[tuple[str, str]], served: Served
) -> None:
    tool = as_job(FunctionTool(bank.pay, require_confirmation=True, may_allow_for_session=True))
    app = App(name="bank", root_agent=LlmAgent(name="bank", model=bank.model, tools=[tool]))
    served(app)
    session = await allowed(person, bank)
    assert await pay(person, session, bank, 2) == ""
    assert await ToolJob.objects.filter(session=session).acount() == 2
    metadata = {"session": session, "body__customMetadata__has_key": "adk_allowed_earlier"}
    assert await Event.objects.filter(**metadata).acount() == 1


async def test_the_settings_list_what_is_allowed_in_all_chats_and_withdraw_it(
    person: User, bank: Bank, async_client: Any
) -> None:
    sessions = [await allowed(person, bank) for _ in range(5)]
    first, second, third, withdrawn, rewound = sessions
    await use_cases.withdraw_allowance(actors.person(person), withdrawn.pk, "bank", "pay")
    message = await Event.objects.filter(session=rewound, author="user", kind="message").afirst()
    assert message is not None
    bank.model.turns = ["Nothing to pay."]
    by = actors.person(person)
    await use_cases.edit_message(by, rewound.pk, "e1", "hi", str(message.invocation_id))
    await worker().wait_until_idle()
    stranger = await User.objects.acreate_user("eve")
    address = reverse("chat:withdraw_allowance", args=[second.pk])
    subject = {"agent": "bank", "tool": "pay"}
    await async_client.aforce_login(stranger)
    await async_client.post(address, subject)
    await async_client.post(reverse("chat:withdraw_allowances"))
    assert await in_thread(allowances_of, stranger) == []
    await async_client.aforce_login(person)
    page = (await async_client.get("/settings/")).content.decode()
    shown = re.findall(r'action="/settings/allowances/([\w-]+)/withdraw/"', page)
    assert shown == [str(session.pk) for session in (third, second, first)]  # the newest one first
    for posted in (subject, subject, {"agent": "bank", "tool": "\0"}):
        assert (await async_client.post(address, posted)).status_code == 302
    assert [given.session for given in await in_thread(allowances_of, person)] == [third, first]
    assert await pay(person, second, bank, 2)
    assert await pay(person, first, bank, 2) == ""
    await async_client.post(reverse("chat:withdraw_allowances"))
    assert await in_thread(allowances_of, person) == []
    assert await pay(person, first, bank, 3)


async def test_allowances_are_found_by_their_index(person: User, bank: Bank) -> None:
    await allowed(person, bank)

    def plan() -> str:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            return Event.objects.changing_allowances().explain()

    assert "event_allowances" in await in_thread(plan)


async def test_nobody_else_may_withdraw_an_allowance(person: User, bank: Bank) -> None:
    session = await allowed(person, bank)
    stranger = await User.objects.acreate_user("eve")
    with pytest.raises(NotFoundError):
        await use_cases.withdraw_allowance(actors.person(stranger), session.pk, "bank", "pay")
    assert await pay(person, session, bank, 2) == ""


@pytest.mark.parametrize("name", ["items", "<script>", "\u202epay", "\0", "x" * 256])
async def test_a_withdrawal_of_a_strange_tool_is_refused_with_a_sentence(
    person: User, bank: Bank, name: str
) -> None:
    session = await allowed(person, bank)
    socket = Websocket(ChatConsumer.as_asgi(), f"/ws/chat/{session.pk}/")
    socket.scope["user"] = person
    socket.scope["url_route"] = {"args": (), "kwargs": {"session_id": session.pk}}
    assert (await socket.connect())[0]
    await socket.send_json_to({"v": 1, "type": "withdraw_allowance", "agent": "bank", "tool": name})
    refused = await socket.receive_json_from(10)
    await socket.disconnect()
    assert (refused["type"], refused["code"]) == ("error", "not_found")
    assert await pay(person, session, bank, 2) == ""


async def test_staff_read_in_the_history_what_was_allowed_used_and_withdrawn(
    person: User, bank: Bank, async_client: Any
) -> None:
    session = await allowed(person, bank)
    await pay(person, session, bank, 2)
    await use_cases.withdraw_allowance(actors.person(person), session.pk, "bank", "pay")
    await async_client.aforce_login(await User.objects.acreate_superuser("root"))
    page = await async_client.get(reverse("admin:sessions_app_session_change", args=[session.pk]))
    text = page.content.decode()
    assert all(mark in text for mark in ("forSession", "adk_allowed_earlier", "adk_withdrawn_allowance"))
