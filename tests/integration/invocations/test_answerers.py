"""A long-running call is answered by the party that its tool names (contract T10)."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, Permission, User

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.context import ReadonlyContext
from runtime.errors import ConfigurationError
from runtime.tools import BaseTool, BaseToolset, LongRunningFunctionTool, get_user_choice
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.chat.consumers import ChatConsumer
from sessions_app.errors import ConflictError, PermissionDeniedError
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session
from tests.fakes import ScriptedModel, call
from tests.integration.api.conftest import Program, make_key
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
STAFF = "staff:sessions_app.view_session"
YES = {"approved": True}


def approve(euros: int) -> None:
    """Have an expense approved."""


class Approvals(BaseToolset):
    """Toolset with one long-running tool, under a prefix."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        return [LongRunningFunctionTool(approve, answered_by="person")]


async def waiting_call(
    person: User, served: Served, tool: Any, name: str = "approve", **args: Any
) -> tuple[Session, str]:
    """Return a session that waits for a call of the tool, and the id of the call."""
    model = ScriptedModel(turns=[call(name, **(args or {"euros": 500})), "Waiting.", "Approved."])
    agent = LlmAgent(name="clerk", model=model, tools=[tool])
    app = App(name="expenses", root_agent=agent)
    served(app)
    session = await use_cases.create_session(person, "expenses")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "I spent 500 euros")
    await worker().wait_until_idle()
    event = await Event.objects.aget(session=session, kind="call")
    return session, event.body["content"]["parts"][0]["functionCall"]["id"]


async def stored(session: Session) -> tuple[int, int]:
    """Return the numbers of invocations and events."""
    return (
        await Invocation.objects.filter(session=session).acount(),
        await Event.objects.filter(session=session).acount(),
    )


async def staff_with(*codenames: str) -> User:
    user = await User.objects.acreate_user("grace", password="secret", is_staff=True)
    async for permission in Permission.objects.filter(codename__in=codenames):
        await user.user_permissions.aadd(permission)
    return await User.objects.aget(pk=user.pk)


@pytest.mark.parametrize("rule", [{}, {"answered_by": "site"}, {"answered_by": STAFF}])
async def test_the_requester_may_not_answer_a_call_that_somebody_else_decides(
    person: User, served: Served, rule: dict[str, str]
) -> None:
    session, call_id = await waiting_call(person, served, LongRunningFunctionTool(approve, **rule))
    before = await stored(session)
    with pytest.raises(PermissionDeniedError, match="You may not answer this call"):
        await use_cases.answer_call(actors.person(person), session.pk, call_id, "approve", YES)
    assert await stored(session) == before


async def test_a_respond_frame_of_the_requester_is_forbidden(person: User, served: Served) -> None:
    session, call_id = await waiting_call(person, served, LongRunningFunctionTool(approve))
    before = await stored(session)
    socket = Websocket(ChatConsumer.as_asgi(), f"/ws/chat/{session.pk}/")
    socket.scope["user"] = person
    socket.scope["url_route"] = {"args": (), "kwargs": {"session_id": session.pk}}
    assert (await socket.connect())[0]
    await socket.send_json_to({"v": 1, "type": "hello", "after": 0})
    frame = {"v": 1, "type": "respond", "call_id": call_id, "name": "approve", "response": YES}
    await socket.send_json_to(frame)
    answer = await socket.receive_json_from(5)
    while answer["type"] != "error":
        answer = await socket.receive_json_from(5)
    await socket.disconnect()
    assert answer["code"] == "forbidden"
    assert await stored(session) == before


@pytest.mark.parametrize(
    "tool, name, args",
    [
        (LongRunningFunctionTool(approve, answered_by="person"), "approve", {"euros": 5}),
        (get_user_choice, "get_user_choice", {"options": ["tea", "milk"]}),
        (Approvals(tool_name_prefix="erp"), "erp_approve", {"euros": 5}),
    ],
    ids=["named", "choice", "toolset"],
)
async def test_the_person_answers_a_call_that_is_theirs(
    person: User, served: Served, tool: Any, name: str, args: dict[str, Any]
) -> None:
    session, call_id = await waiting_call(person, served, tool, name, **args)
    await use_cases.answer_call(actors.person(person), session.pk, call_id, name, YES)
    await worker().wait_until_idle()
    assert (await Invocation.objects.filter(session=session).alatest("id")).status == "completed"


async def test_staff_with_the_permission_answers_and_staff_without_it_does_not(
    person: User, served: Served
) -> None:
    tool = LongRunningFunctionTool(approve, answered_by=STAFF)
    session, call_id = await waiting_call(person, served, tool)
    before = await stored(session)
    other = await staff_with("view_event")
    with pytest.raises(PermissionDeniedError):
        await use_cases.answer_long_running_call(session, call_id, YES, by=other)
    assert await stored(session) == before
    await other.adelete()
    manager = await staff_with("view_session")
    await use_cases.answer_long_running_call(session, call_id, YES, by=manager)
    await worker().wait_until_idle()
    assert (await Invocation.objects.filter(session=session).alatest("id")).status == "completed"


async def test_the_code_of_the_site_answers_once(person: User, served: Served) -> None:
    session, call_id = await waiting_call(person, served, LongRunningFunctionTool(approve))
    await use_cases.answer_long_running_call(session, call_id, YES)
    await worker().wait_until_idle()
    response = await Event.objects.filter(session=session, author="user").alatest("seq")
    assert response.body["content"]["parts"][0]["functionResponse"]["response"] == YES
    with pytest.raises(ConflictError):
        await use_cases.answer_long_running_call(session, call_id, YES)


@pytest.mark.parametrize("rule", ["", "anybody", "staff:", "staff:approve"])
def test_a_rule_that_names_nobody_is_refused(rule: str) -> None:
    with pytest.raises(ConfigurationError, match="names nobody"):
        LongRunningFunctionTool(approve, answered_by=rule)


async def test_the_key_of_a_service_answers_the_calls_of_the_site_and_a_persons_own_key_does_not(
    person: User, served: Served
) -> None:
    session, call_id = await waiting_call(person, served, LongRunningFunctionTool(approve))
    group = await Group.objects.acreate(name="customers")
    await person.groups.aadd(group)
    billing = await User.objects.acreate_user("billing")
    service = Program(await sync_to_async(make_key)(billing, "answer", people=group))
    own = Program(await sync_to_async(make_key)(person))
    run = await Invocation.objects.aget(session=session)
    address, answer = f"/api/v1/runs/{run.invocation_id}/responses", {"call_id": call_id, "response": YES}
    statuses = [
        (await program.post(address, answer, "application/json")).status_code
        for program in (own, service, service)
    ]
    assert statuses == [403, 202, 409]
    await worker().wait_until_idle()
    assert (await Invocation.objects.alatest("pk")).actor_name == "ada by the key test"


async def test_the_key_of_a_service_does_not_decide_in_the_place_of_staff(
    person: User, served: Served
) -> None:
    session, call_id = await waiting_call(person, served, LongRunningFunctionTool(approve, answered_by=STAFF))
    with pytest.raises(PermissionDeniedError):
        await use_cases.answer_call(actors.person(person), session.pk, call_id, None, YES, for_site=True)
