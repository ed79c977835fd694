"""Each act keeps who did it, from where and why: in the row of the invocation, or as an act of the session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
from channels.routing import URLRouter
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from django.urls import reverse

from runtime import types
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import LlmResponse
from runtime.tools import LongRunningFunctionTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.data_protection.export import session_head
from sessions_app.errors import ConflictError
from sessions_app.invocations.worker import worker
from sessions_app.jobs import confirm, job_tool
from sessions_app.jobs.cancel import cancel_job
from sessions_app.models import (
    AccountAct,
    Event,
    Invocation,
    LinkedAccount,
    ScheduledTask,
    Session,
    SessionAct,
    ShareLink,
    ToolJob,
)
from sessions_app.process import threads
from sessions_app.process.threads import in_thread
from sessions_app.routing import websocket_urlpatterns
from sessions_app.scheduling.session_tasks import cancel_task
from sessions_app.scheduling.tools import cancel_scheduled_task, schedule_task
from sessions_app.sessions.sharing import revoke_links
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, call
from tests.integration.access import make_job, make_schedule, make_session, make_share_link
from tests.integration.admin.audit_rows import page_of, read, text_of
from tests.integration.jobs.job_helpers import run_queue, run_task
from tests.integration.locks import blocked, held
from tests.integration.scheduling.schedule_helpers import fire_due_tasks, make_due
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("background_end", "broker")
ADDRESS = "198.51.100.7"
OWN = ("person", "ada", ADDRESS)


def approve(euros: int) -> None:
    """Have an expense approved."""


@job_tool
def pack(boxes: int) -> str:
    """Pack boxes."""
    return "packed" if confirm(f"Pack {boxes}?") else "left"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    approval = LongRunningFunctionTool(approve, answered_by="staff:sessions_app.view_session")
    tools = [approval, pack, schedule_task, cancel_scheduled_task]
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=scripted, tools=tools))
    served(app)
    return scripted


@pytest.fixture
def session(person: User, model: ScriptedModel) -> Session:
    return threads.run(use_cases.create_session(person, "shop"))


@pytest.fixture
def staff(client: Client) -> Iterator[User]:
    user = User.objects.create_superuser("grace")
    client.force_login(user)
    yield user


def do(act: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Await an act, and wait until nothing runs."""

    async def do_and_wait() -> Any:
        result = await act()
        await worker().wait_until_idle()
        return result

    return threads.run(do_and_wait())


def say(person: User, session: Session, model: ScriptedModel, text: str, *turns: Any) -> str:
    """Send a message; return the invocation's id."""
    model.turns = [*turns]
    invocation_id, _ = do(
        lambda: use_cases.send_message(actors.person(person, ADDRESS), session.pk, f"client {text}", text)
    )
    return str(invocation_id)


def asked(session: Session) -> list[tuple[str, str, str | None]]:
    """Return kind, name and address of those who asked for the invocations, oldest first."""
    rows = Invocation.objects.filter(session=session).order_by("id")
    return list(rows.values_list("actor_kind", "actor_name", "address"))


def acts(session: Session) -> list[tuple[str, str, str, str, str | None]]:
    """Return action, subject and actor of the acts, oldest first."""
    rows = SessionAct.objects.filter(session=session).order_by("id")
    return list(rows.values_list("action", "subject_kind", "actor_kind", "actor_name", "address"))


async def test_a_message_by_websocket_and_one_by_http_have_the_address_of_the_browser(
    person: User, model: ScriptedModel, browser: AsyncClient, loop_end: None
) -> None:
    session = await use_cases.create_session(person, "shop")
    model.turns = ["hello", "hello"]
    socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
    socket.scope.update(user=person, client=[ADDRESS, 4000])
    assert (await socket.connect())[0]
    await socket.send_to(json.dumps({"v": 1, "type": "hello", "after": 0}))
    await socket.send_to(json.dumps({"v": 1, "type": "message", "id": "m1", "text": "by socket"}))
    while json.loads(await socket.receive_from(5)).get("status") != "completed":
        pass
    await socket.disconnect()
    frame = json.dumps({"v": 1, "type": "message", "id": "m2", "text": "by http"})
    url = f"/chat/{session.pk}/frames/"
    assert (await browser.post(url, frame, content_type="text/plain")).status_code == 200
    await worker().wait_until_idle()
    rows = Invocation.objects.filter(session=session).order_by("id")
    found = [(row.actor_kind, row.actor_id, row.actor_name, row.address) async for row in rows]
    assert found == [
        ("person", str(person.pk), "ada", ADDRESS),
        ("person", str(person.pk), "ada", "127.0.0.1"),
    ]


def test_an_approval_by_staff_keeps_name_address_and_reason_when_the_account_is_gone(
    client: Client, person: User, session: Session, model: ScriptedModel, staff: User
) -> None:
    say(person, session, model, "500 euros", call("approve", euros=500), "I asked.")
    made = Event.objects.get(session=session, kind="call").body["content"]["parts"][0]["functionCall"]
    model.turns = ["It is approved."]
    answer = use_cases.answer_long_running_call
    do(lambda: answer(session, made["id"], {"ok": True}, by=staff, address=ADDRESS, reason="Within budget"))
    staff.delete()
    assert asked(session) == [OWN, ("staff", "grace", ADDRESS)]
    client.force_login(User.objects.create_superuser("other"))
    # The event has the invocation id of the call, whose message the person wrote.
    event = Event.objects.get(session=session, kind="response", author="user")
    row = text_of(read(client, page_of(session)), f'id="event-{event.seq}"', "<section")
    assert "Staff grace" in row and ADDRESS in row and "Within budget" in row
    page = reverse("admin:sessions_app_invocation_changelist")
    assert "staff <bdi>grace</bdi> from 198.51.100.7" in read(client, page)


def test_no_event_and_no_export_has_an_address(person: User, session: Session, model: ScriptedModel) -> None:
    first = say(person, session, model, "one", "1")
    model.turns = ["2"]
    do(lambda: use_cases.edit_message(actors.person(person, ADDRESS), session.pk, "e-1", "two", first))
    bodies = [*Event.objects.values_list("body", flat=True), session_head(session)]
    assert not [body for body in bodies if ADDRESS in json.dumps(body)]


def test_results_of_jobs_and_wake_ups_do_not_look_like_messages_of_the_person(
    client: Client, person: User, session: Session, model: ScriptedModel, staff: User
) -> None:
    say(person, session, model, "pack", call("pack", boxes=3), "It is being packed.")
    job = ToolJob.objects.get()
    run_task(job)
    do(lambda: use_cases.answer_job(actors.person(person, ADDRESS), session.pk, job.pk, 0, True))
    run_task(job)
    model.turns = ["It is packed."]
    run_queue(session.pk)
    say(person, session, model, "later", call("schedule_task", task="Water", run_at="in 10 minutes"), "Yes.")
    task = ScheduledTask.objects.get()
    make_due(task)
    fire_due_tasks()
    model.turns = ["Watered."]
    run_queue(session.pk)
    assert asked(session) == [OWN, ("job", "pack", None), OWN, ("schedule", "clerk", None)]
    assert acts(session) == [("answer", "tooljob", *OWN)]
    html = read(client, page_of(session))
    for seq, author in ((1, "user"), (5, "Job pack"), (11, "Schedule clerk")):
        row = text_of(html, f'id="event-{seq}"', "</summary>")
        assert f"<bdi>{author}</bdi></span>" in row
    assert "Answer, person <bdi>ada</bdi> from" in read(
        client, reverse("admin:sessions_app_tooljob_change", args=[job.pk])
    )


def test_an_edit_and_a_switch_are_acts_that_appended_an_event(
    client: Client, person: User, session: Session, model: ScriptedModel, staff: User
) -> None:
    first = say(person, session, model, "one", "1")
    model.turns = ["2"]
    do(lambda: use_cases.edit_message(actors.person(person, ADDRESS), session.pk, "edit", "two", first))
    do(lambda: use_cases.switch_alternative(actors.person(person, ADDRESS), session.pk, 1))
    rewinds = Event.objects.filter(session=session).rewinds().order_by("seq")
    assert acts(session) == [("rewind", "invocation", *OWN), ("switch", "event", *OWN)]
    assert list(SessionAct.objects.order_by("id").values_list("seq", flat=True)) == [e.seq for e in rewinds]
    assert asked(session) == [OWN, OWN]
    for rewind in rewinds:
        row = text_of(
            read(client, page_of(session)), f'id="event-{rewind.seq}"', '<details class="audit-raw"'
        )
        assert "By person<bdi>ada</bdi>" in row and ADDRESS in row


def test_a_refused_rewind_and_a_refused_answer_are_no_acts(
    person: User, session: Session, model: ScriptedModel
) -> None:
    first = say(person, session, model, "pack", call("pack", boxes=3), "It is being packed.")
    job = ToolJob.objects.get()
    with pytest.raises(ConflictError):
        do(lambda: use_cases.answer_job(actors.person(person, ADDRESS), session.pk, job.pk, 0, True))
    Session.objects.filter(pk=session.pk).update(lease_owner="another")
    with pytest.raises(ConflictError):
        do(lambda: use_cases.edit_message(actors.person(person, ADDRESS), session.pk, "edit", "two", first))
    assert acts(session) == []


def test_a_stop_a_retry_and_a_deletion_are_acts_of_the_person(
    client: Client, person: User, session: Session, model: ScriptedModel, staff: User
) -> None:
    failed = LlmResponse(error_code="BUSY", error_message="Try later.")
    invocation_id = say(person, session, model, "one", failed)
    model.turns = ["1"]
    do(lambda: use_cases.retry(actors.person(person, ADDRESS), session.pk, invocation_id))
    row = Invocation.objects.create(session=session, invocation_id="e-2", client_id="m-2", message={})
    do(lambda: use_cases.cancel(actors.person(person, ADDRESS), session.pk, "e-2"))
    do(lambda: use_cases.cancel(actors.person(person, ADDRESS), session.pk, "e-2"))
    client.force_login(person)
    changed = client.post(f"/chat/{session.pk}/delete/", REMOTE_ADDR=ADDRESS)
    assert changed.status_code == 204
    retry, stop, delete = acts(session)
    assert (retry, stop) == (("retry", "invocation", *OWN), ("stop", "invocation", *OWN))
    assert delete == ("delete", "session", *OWN)
    client.force_login(staff)
    page = read(client, reverse("admin:sessions_app_invocation_change", args=[row.pk]))
    assert "Stop, person <bdi>ada</bdi> from 198.51.100.7" in page
    assert ADDRESS in read(client, reverse("admin:sessions_app_sessionact_changelist"))


def test_a_task_that_the_agent_cancels_was_cancelled_by_the_agent(
    person: User, session: Session, model: ScriptedModel
) -> None:
    say(person, session, model, "later", call("schedule_task", task="Water", run_at="in 10 minutes"), "Yes.")
    task = ScheduledTask.objects.get()
    say(person, session, model, "do not", call("cancel_scheduled_task", id=task.pk), "It is cancelled.")
    task.refresh_from_db()
    assert (task.cancelled_by, task.cancelled_by_name) == (None, "clerk")
    assert acts(session) == [("stop", "scheduledtask", "agent", "clerk", None)]


def test_jobs_that_a_rewind_cancels_name_who_rewound_and_why(
    person: User, session: Session, model: ScriptedModel
) -> None:
    first = say(person, session, model, "pack", call("pack", boxes=3), "It is being packed.")
    model.turns = ["2"]
    do(lambda: use_cases.edit_message(actors.person(person, ADDRESS), session.pk, "edit", "two", first))
    job = ToolJob.objects.get()
    assert (job.status, job.cancelled_by_name) == ("cancelled", "ada")
    assert job.cancel_reason == "The conversation was taken back to before its call."
    assert acts(session) == [("rewind", "invocation", *OWN), ("stop", "tooljob", *OWN)]


def test_the_second_of_two_stops_of_a_job_is_no_act_and_the_reason_of_the_first_is_kept(
    person: User, session: Session, model: ScriptedModel, staff: User
) -> None:
    say(person, session, model, "pack", call("pack", boxes=3), "It is being packed.")
    job = ToolJob.objects.get()
    cancel_job(job.pk, by=actors.staff(staff, ADDRESS), reason="\u202eIt loops<script>")
    cancel_job(job.pk, by=actors.person(person))
    act = SessionAct.objects.get()
    assert (act.actor_kind, act.actor_name, act.address, act.reason) == (
        "staff", "grace", ADDRESS, "\u202eIt loops<script>",
    )  # fmt: skip


def test_acts_are_erased_with_their_session(person: User, session: Session, model: ScriptedModel) -> None:
    first = say(person, session, model, "one", "1")
    model.turns = ["2"]
    do(lambda: use_cases.edit_message(actors.person(person, ADDRESS), session.pk, "edit", "two", first))
    tombstone = erase_session(session.pk, ErasureOrder(reason="Asked for"))
    assert (tombstone.counts["acts"], SessionAct.objects.count()) == (1, 0)


@pytest.mark.parametrize("address", ["fe80::1%eth0", "", "not an address"])
def test_an_odd_address_loses_no_message(
    person: User, session: Session, model: ScriptedModel, address: str
) -> None:
    by = actors.person(person, address)
    message = types.UserContent("hi").model_dump(exclude_none=True)
    model.turns = ["hello"]
    do(
        lambda: worker().start(
            NewInvocation(session.pk, user_id=person.pk, client_id="m", message=message, by=by)
        )
    )
    assert asked(session) == [("person", "ada", "fe80::1" if address.startswith("fe80") else None)]


@pytest.mark.parametrize("kind", ["tooljob", "scheduledtask", "sharelink", "linkedaccount"])
@pytest.mark.usefixtures("loop_end")
async def test_of_two_requests_at_once_one_is_recorded(person: User, kind: str) -> None:
    by = actors.person(person)
    session = await in_thread(make_session, person)
    row: Any
    act: Callable[[], object]
    match kind:
        case "tooljob":
            row = await in_thread(make_job, session)
            act = partial(cancel_job, row.pk, by=by)
        case "scheduledtask":
            row = await in_thread(make_schedule, session)
            act = partial(cancel_task, session.pk, row.pk, by)
        case "sharelink":
            row = await in_thread(make_share_link, session)
            act = partial(revoke_links, ShareLink.objects.filter(session=session), by)
        case _:
            row = await LinkedAccount.objects.acreate(
                user=person, service="slack", place="T1", account="U1", name="ada"
            )
            act = partial(use_cases.unlink_account, by, row.pk)
    async with held(f"SELECT 1 FROM {row._meta.db_table} FOR UPDATE"):
        requests = [asyncio.create_task(in_thread(act)) for _ in range(2)]
        await blocked(2)
    await asyncio.gather(*requests)
    of_session = SessionAct.objects.filter(subject_kind=kind, actor_kind="person")
    of_account = AccountAct.objects.filter(subject_kind=kind)
    assert await of_session.acount() + await of_account.acount() == 1
