"""Requests of the inbox (contract T7): each call that waits has one row, until it is answered or waits no longer."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.auth.auth_credential import AuthCredential, AuthCredentialTypes
from runtime.auth.auth_schemes import APIKey
from runtime.auth.auth_tool import AuthConfig
from runtime.events.calls import REQUEST_CONFIRMATION, REQUEST_INPUT, MadeCalls
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext, get_user_choice
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.errors import PermissionDeniedError, StaleLeaseError
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.waiting_calls import sync_answer_requests
from sessions_app.invocations.worker import worker
from sessions_app.models import AnswerRequest, Invocation, RequestKind, Session, ToolJob
from tests.fakes import ScriptedModel, call
from tests.integration.invocations.rewind_helpers import go_back
from tests.integration.locks import blocked, held
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
REFUNDED: list[int] = []
FINANCE = "staff:sessions_app.cancel_invocation"
SECRET = "hunter2" * 20
YES, NO = {"confirmed": True}, {"confirmed": False}


def refund(euros: int) -> str:
    """Refund an amount."""
    REFUNDED.append(euros)
    return f"{euros} are on their way"


def sign(contract: str, api_key: str = "") -> None:
    """Have a contract signed."""


def restart() -> None:
    """Restart."""


def log_in(password: str) -> None:
    """Log in."""


def visit(shop: str, tool_context: ToolContext) -> dict[str, str]:
    """Visit a shop."""
    tool_context.request_confirmation(hint=f"{shop} asks: Open\nhttps://shop.example, password={SECRET}")
    return {"status": "asked"}


def approve(euros: int) -> None:
    """Have an expense approved."""


def look_up(tool_context: ToolContext) -> str:
    """Look up an order."""
    key = AuthCredential(auth_type=AuthCredentialTypes.API_KEY)
    tool_context.request_credential(
        AuthConfig(auth_scheme=APIKey(**{"in": "header", "name": "X-Key"}), raw_auth_credential=key)
    )
    return "asked"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    REFUNDED.clear()
    scripted = ScriptedModel()
    tools = [
        FunctionTool(refund, title="Refund {euros} euros", require_confirmation=True, confirmed_by=FINANCE),
        FunctionTool(sign, require_confirmation=True),
        FunctionTool(restart, require_confirmation=True),
        FunctionTool(log_in, title="Log in with {password}", require_confirmation=True),
        LongRunningFunctionTool(approve, answered_by=FINANCE),
        get_user_choice,
        look_up,
        visit,
    ]
    app = App(name="desk", root_agent=LlmAgent(name="clerk", model=scripted, tools=tools))
    served(app)
    return scripted


async def talk(person: User, model: ScriptedModel, *turns: Any, text: str = "Hello") -> tuple[Session, str]:
    """Return a new session after a message, and the id of its invocation."""
    model.turns = [*turns]
    session = await use_cases.create_session(person, "desk")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, f"m {text}", text)
    await worker().wait_until_idle()
    return session, invocation_id


async def answer(person: User, row: AnswerRequest, response: dict[str, Any]) -> None:
    await use_cases.answer_call(
        actors.person(person), row.session_id, row.call_id, REQUEST_CONFIRMATION, response
    )
    await worker().wait_until_idle()


async def staff(*codenames: str, name: str = "grace") -> User:
    user = await User.objects.acreate_user(name, is_staff=True)
    await user.user_permissions.aset(Permission.objects.filter(codename__in=codenames))
    return await User.objects.aget(pk=user.pk)


@pytest.mark.parametrize(
    "turns, expected",
    [
        ([call("refund", euros=7)], ("confirmation", "refund", "Refund 7 euros", FINANCE)),
        ([call("sign", contract="Lease")], ("confirmation", "sign", "Sign: Lease", "person")),
        ([call("restart")], ("confirmation", "restart", "Restart", "person")),
        (
            [call("sign", contract=f"Lease, password={SECRET}", api_key=SECRET)],
            ("confirmation", "sign", "Sign: [masked], Lease, password=[masked]", "person"),
        ),
        (
            [call("visit", shop="Tea"), "Wait."],
            (
                "confirmation",
                "visit",
                "Visit: Tea. Tea asks: Open https://shop.example, password=[masked]",
                "person",
            ),
        ),
        (
            [call("log_in", password=SECRET)],
            ("confirmation", "log_in", "Log in with [masked]", "person"),
        ),
        (
            [call("get_user_choice", options=["tea", f"token={SECRET}"])],
            ("choice", "get_user_choice", "Choose one: tea, token=[masked]", "person"),
        ),
        ([call("approve", euros=7), "Wait."], ("call", "approve", "Approve: 7", FINANCE)),
        (
            [call("get_user_choice", options=["tea", "milk"])],
            ("choice", "get_user_choice", "Choose one: tea, milk", "person"),
        ),
        (
            [call("look_up")],
            ("credential", "adk_request_credential", "Give a credential to Clerk", "person"),
        ),
    ],
)
async def test_each_call_that_waits_has_a_row_with_its_effect_and_who_may_answer(
    person: User, model: ScriptedModel, turns: list[Any], expected: tuple[str, ...]
) -> None:
    session, _ = await talk(person, model, *turns)
    row = await AnswerRequest.objects.open().aget(session=session)
    assert (row.kind, row.tool_name, row.effect, row.answered_by) == expected
    assert row.agent_name == "clerk"


async def test_an_answer_takes_the_row_away_and_a_rewind_to_before_the_answer_brings_it_back(
    person: User, model: ScriptedModel
) -> None:
    session, _ = await talk(person, model, call("sign", contract="Lease"), "Signed.")
    row = await AnswerRequest.objects.aget()
    await answer(person, row, YES)
    assert not await AnswerRequest.objects.aexists()
    answered = await Invocation.objects.filter(session=session).alatest("id")
    await go_back(person, session.pk, answered.invocation_id)
    again = await AnswerRequest.objects.open().aget()
    assert (again.call_id, again.effect) == (row.call_id, row.effect)


async def test_a_rewind_to_before_the_call_takes_the_row_away(person: User, model: ScriptedModel) -> None:
    session, invocation_id = await talk(person, model, call("refund", euros=7))
    await go_back(person, session.pk, invocation_id)
    assert not await AnswerRequest.objects.aexists()


async def test_a_call_that_was_cancelled_or_whose_session_was_deleted_is_not_open(
    person: User, model: ScriptedModel
) -> None:
    session, _ = await talk(person, model, call("refund", euros=7))
    waiting = AnswerRequest.objects.open()
    await Invocation.objects.aupdate(status="cancelled")
    assert not await waiting.aexists()
    await Invocation.objects.aupdate(status="waiting")
    assert await waiting.aexists()
    await use_cases.change_session(actors.person(person), session.pk, "delete")
    assert not await waiting.aexists()


async def test_the_rows_are_brought_in_line_as_often_as_one_likes(person: User, model: ScriptedModel) -> None:
    session, _ = await talk(person, model, call("refund", euros=7), call("refund", euros=8))
    await AnswerRequest.objects.all().adelete()
    for _ in range(2):
        pending = MadeCalls(await effective_events(session)).pending()
        await sync_answer_requests(session.pk, "desk", pending)
        assert await AnswerRequest.objects.open().acount() == 1


async def test_under_a_lost_lease_no_row_is_taken_away(person: User, model: ScriptedModel) -> None:
    session, _ = await talk(person, model, call("refund", euros=7))
    await session.arefresh_from_db()
    with pytest.raises(StaleLeaseError):
        await sync_answer_requests(session.pk, "desk", [], session.lease_token - 1)
    assert await AnswerRequest.objects.open().aexists()
    await sync_answer_requests(session.pk, "desk", [], session.lease_token)
    assert not await AnswerRequest.objects.aexists()


async def test_a_process_that_has_lost_its_lease_takes_away_no_later_question(
    person: User, served: Served
) -> None:
    gate = asyncio.Event()

    async def ship(order: int) -> str:
        """Ship an order."""
        await gate.wait()
        return "shipped"

    scripted = ScriptedModel()
    ship_tool = FunctionTool(ship, require_confirmation=True)
    served(App(name="desk", root_agent=LlmAgent(name="clerk", model=scripted, tools=[ship_tool])))
    session, _ = await talk(person, scripted, call("ship", order=7), "Shipped.")
    row = await AnswerRequest.objects.aget()
    admitted = await use_cases.answer_call(
        actors.person(person), session.pk, row.call_id, REQUEST_CONFIRMATION, YES
    )
    async with held("LOCK TABLE sessions_app_invocation IN SHARE ROW EXCLUSIVE MODE") as other:
        gate.set()
        await blocked(1)  # It has read what waits. Another process takes over, and ends with a question.
        await other.execute("UPDATE sessions_app_session SET lease_token = lease_token + 1")
        await other.execute(
            "UPDATE sessions_app_invocation SET status = 'waiting' WHERE invocation_id = %s",
            [admitted.invocation_id],
        )
        row.pk, row.call_id, row.invocation_id = None, "later", admitted.invocation_id
        await row.asave(force_insert=True)
    await worker().wait_until_idle()
    later = await AnswerRequest.objects.open().aget()
    assert later.call_id == "later"
    assert (await Invocation.objects.aget(invocation_id=admitted.invocation_id)).status == "waiting"


async def test_the_query_and_the_row_agree_on_what_is_answered_by_yes_or_no(person: User) -> None:
    session = await Session.objects.acreate(user=person, app_name="desk")
    jobs: list[ToolJob | None] = [None]
    for kind in ("confirm", "choice", "text"):
        names = {"tool_name": "refund", "task_name": "t", "agent_name": "a", "invocation_id": "e-1"}
        job = ToolJob(session=session, call_id=kind, question={"kind": kind}, status="waiting", **names)
        await job.asave()
        jobs.append(job)
    rows = [
        AnswerRequest(
            session=session, call_id=str(number), kind=kind, tool_name=tool, job=job, asked_at=timezone.now()
        )
        for number, (kind, tool, job) in enumerate(product(RequestKind, ("refund", REQUEST_INPUT), jobs))
    ]
    await AnswerRequest.objects.abulk_create(rows)
    of_calls = {(row.kind, row.tool_name) for row in rows if row.job is None and row.is_yes_or_no}
    assert of_calls == {
        (RequestKind.CONFIRMATION, "refund"),
        (RequestKind.CONFIRMATION, REQUEST_INPUT),
        (RequestKind.CALL, "refund"),
    }
    questions = [row.job for row in rows if row.kind == RequestKind.QUESTION and row.is_yes_or_no]
    assert questions == [jobs[1], jobs[1]]
    queried = {row.pk async for row in AnswerRequest.objects.yes_or_no()}
    assert queried == {row.pk for row in rows if row.is_yes_or_no}


async def test_the_requester_may_withdraw_a_call_that_staff_confirm_and_may_not_approve_it(
    person: User, model: ScriptedModel
) -> None:
    await talk(person, model, call("refund", euros=7), "Not refunded.")
    permission = await Permission.objects.aget(codename="cancel_invocation")
    await person.user_permissions.aadd(permission)
    person.is_staff = True
    await person.asave()
    person = await User.objects.aget(pk=person.pk)
    row = await AnswerRequest.objects.aget()
    for forged in (YES, {"response": '{"confirmed": true}'}, {"confirmed": False, "response": "{}"} | YES):
        with pytest.raises(PermissionDeniedError, match="Staff decide this"):
            await answer(person, row, forged)
    await answer(person, row, NO)
    assert REFUNDED == [] and not await AnswerRequest.objects.aexists()


async def test_only_staff_with_the_permission_of_the_tool_confirm_its_calls(
    person: User, model: ScriptedModel
) -> None:
    session, _ = await talk(person, model, call("refund", euros=7), "Refunded.")
    row = await AnswerRequest.objects.aget()
    for other in (
        await staff("approve_answerrequest", "view_session", name="eve"),
        await User.objects.acreate_user("no-staff"),
    ):
        with pytest.raises(PermissionDeniedError):
            await use_cases.answer_long_running_call(session, row.call_id, YES, by=other)
    assert REFUNDED == []
    finance = await staff("cancel_invocation")
    await use_cases.answer_long_running_call(session, row.call_id, YES, by=finance)
    await worker().wait_until_idle()
    assert REFUNDED == [7]


async def test_staff_with_the_general_permission_answer_for_the_person_but_give_no_credential(
    person: User, model: ScriptedModel
) -> None:
    manager = await staff("approve_answerrequest")
    session, _ = await talk(person, model, call("get_user_choice", options=["tea"]), "Tea.")
    row = await AnswerRequest.objects.aget()
    await use_cases.answer_long_running_call(session, row.call_id, {"result": "tea"}, by=manager)
    await worker().wait_until_idle()
    session, _ = await talk(person, model, call("look_up"), text="again")
    row = await AnswerRequest.objects.aget()
    with pytest.raises(PermissionDeniedError):
        await use_cases.answer_long_running_call(session, row.call_id, {}, by=manager)
