"""Staff stop what waits: an invocation whose question nobody answers, and a scheduled task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import FunctionTool, LongRunningFunctionTool, ToolContext, get_user_choice
from sessions_app import use_cases
from sessions_app.admin import scheduled_task
from sessions_app.base import actors
from sessions_app.errors import ConflictError, PermissionDeniedError
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.worker import worker
from sessions_app.jobs import job_tool
from sessions_app.models import AnswerRequest, Event, Invocation, ScheduledTask, Session, SessionAct, ToolJob
from sessions_app.process import threads
from sessions_app.store.sql import cancel_requests
from tests.fakes import ScriptedModel, call, pending_calls
from tests.integration.admin.audit_rows import HOSTILE, make_scheduled_task
from tests.integration.chat.pages.page_helpers import shown_to
from tests.integration.jobs.job_helpers import run_queue, run_task
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("background_end", "broker")
DELETED: list[str] = []


def delete_file(name: str) -> str:
    """Delete a file."""
    DELETED.append(name)
    return "deleted"


def approve(euros: int) -> None:
    """Have an expense approved."""


@job_tool
def pack(boxes: int) -> str:
    """Pack boxes."""
    return "packed"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    tools = [FunctionTool(delete_file, require_confirmation=True), get_user_choice, pack]
    tools.append(LongRunningFunctionTool(approve))
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=scripted, tools=tools))
    served(app)
    return scripted


@pytest.fixture
def staff(client: Client) -> User:
    user = User.objects.create_superuser("grace")
    client.force_login(user)
    return user


def wait_for_somebody(person: User, model: ScriptedModel, asked: Any) -> Invocation:
    """Let the agent make a call that waits; return its invocation."""
    model.turns = [asked, "I am waiting."]

    async def send() -> Session:
        session = await use_cases.create_session(person, "shop")
        await use_cases.send_message(actors.person(person), session.pk, "m1", "please")
        await worker().wait_until_idle()
        return session

    return Invocation.objects.get(session=threads.run(send()))


async def until_idle() -> None:
    await worker().wait_until_idle()


def stop(client: Client, row: Any, reason: str = "") -> None:
    url = reverse(f"admin:sessions_app_{row._meta.model_name}_stop", args=[row.pk])
    assert client.post(url, {"reason": reason}).status_code == 302
    threads.run(until_idle())
    row.refresh_from_db()


@pytest.mark.parametrize(
    ("actor", "sentence"),
    [(actors.person, "Stopped"), (lambda user: actors.staff(user, ""), "Stopped by staff")],
)
def test_a_cancel_that_comes_just_before_the_invocation_waits_ends_it(
    served: Served, person: User, actor: Callable[[User], actors.Actor], sentence: str
) -> None:
    async def approve(tool_context: ToolContext) -> None:
        """Have an expense approved."""
        ids = UUID(tool_context.session.id), tool_context.invocation_id
        # Only the row: the process that runs the invocation does not know yet.
        await cancel_requests.request_cancel(
            *ids, by=actor(person), reason="", error_code="", error_message=""
        )

    model = ScriptedModel()
    app = App(
        name="shop", root_agent=LlmAgent(name="clerk", model=model, tools=[LongRunningFunctionTool(approve)])
    )
    served(app)
    row = wait_for_somebody(person, model, call("approve"))
    assert (row.status, row.error_message) == ("cancelled", sentence)
    assert not AnswerRequest.objects.open().exists()
    assert not row.is_stop_requested


WAITS = {
    "confirmation": call("delete_file", name="a.txt"),
    "choice": call("get_user_choice", options=["tea", "milk"]),
    "call of staff": call("approve", euros=5),
}


@pytest.mark.parametrize("asked", WAITS.values(), ids=WAITS)
def test_an_invocation_that_waits_is_stopped_and_its_question_is_closed(
    client: Client, person: User, model: ScriptedModel, staff: User, asked: Any
) -> None:
    row = wait_for_somebody(person, model, asked)
    assert row.status == "waiting"
    (call_id, _), *_ = threads.run(pending(row.session)).items()
    stop(client, row, HOSTILE)
    assert (row.status, row.error_message, row.cancelled_by_name) == (
        "cancelled",
        "Stopped by staff",
        "grace",
    )
    assert SessionAct.objects.get().reason == HOSTILE
    assert threads.run(pending(row.session)) == {}
    assert not AnswerRequest.objects.exists()
    with pytest.raises((ConflictError, PermissionDeniedError)):
        threads.run(use_cases.answer_long_running_call(row.session, call_id, {"confirmed": True}))
    page = shown_to(person, row.session)
    assert "Stopped by staff" in page and HOSTILE not in page and "Rejected by you" not in page
    model.turns = ["Yes?"]
    threads.run(say_more(person, row.session))
    assert (DELETED, Event.objects.latest("id").text) == ([], "Yes?")


async def pending(session: Session) -> dict[str, str]:
    return pending_calls(await effective_events(session))


async def say_more(person: User, session: Session) -> None:
    await use_cases.send_message(actors.person(person), session.pk, "m2", "hello?")
    await worker().wait_until_idle()


def test_the_job_of_a_stopped_invocation_is_cancelled_and_never_answers(
    client: Client, person: User, model: ScriptedModel, staff: User
) -> None:
    row = wait_for_somebody(person, model, call("pack", boxes=3))
    stop(client, row, "Wrong boxes")
    job = ToolJob.objects.get()
    run_task(job)
    run_queue(row.session_id)
    job.refresh_from_db()
    assert (job.status, job.error, job.cancelled_by_name) == (
        "cancelled",
        "The job was stopped by staff.",
        "grace",
    )
    assert job.cancel_reason == "Wrong boxes"
    assert Invocation.objects.count() == 1


def test_staff_who_stop_a_waiting_invocation_of_their_own_chat_close_its_question(
    client: Client, model: ScriptedModel, staff: User
) -> None:
    row = wait_for_somebody(staff, model, WAITS["confirmation"])
    stop(client, row)
    assert (row.status, row.error_message) == ("cancelled", "Stopped by staff")
    assert threads.run(pending(row.session)) == {}


def test_staff_who_stop_an_invocation_of_their_own_chat_that_waits_for_a_job_end_the_job(
    client: Client, model: ScriptedModel, staff: User
) -> None:
    row = wait_for_somebody(staff, model, call("pack", boxes=3))
    stop(client, row)
    job = ToolJob.objects.get()
    assert (job.status, job.cancelled_by_name) == ("cancelled", "grace")
    assert threads.run(pending(row.session)) == {}


def test_a_person_who_stops_a_waiting_invocation_keeps_the_question(
    person: User, model: ScriptedModel
) -> None:
    row = wait_for_somebody(person, model, WAITS["confirmation"])
    threads.run(use_cases.cancel(actors.person(person), row.session_id, row.invocation_id))
    row.refresh_from_db()
    assert (row.status, row.cancel_requested_at) == ("waiting", None)


def test_a_scheduled_task_is_stopped_once_with_a_reason_and_the_chat_is_told(
    client: Client, person: User, staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(scheduled_task, "publish_notice_from_thread", lambda *notice: told.append(notice))
    session = Session.objects.create(app_name="shop", user=person, key="s-1")
    task = make_scheduled_task(session)
    for reason in ("It repeats for ever", "again"):
        stop(client, task, reason)
    assert (task.status, task.next_at, task.cancelled_by_name) == ("cancelled", None, "grace")
    act = SessionAct.objects.get()
    assert (act.subject_kind, act.actor_kind, act.reason) == ("scheduledtask", "staff", "It repeats for ever")
    ((told_session, notice),) = told
    assert (told_session, notice.status) == (session.pk, "cancelled")
    assert not ScheduledTask.objects.active().exists()
