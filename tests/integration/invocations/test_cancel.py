"""Cancel of an invocation in any process, despite lost messages and dead processes (contract R2)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse
from django.utils import timezone
from pydantic import PrivateAttr

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import BaseLlm, LlmRequest, LlmResponse
from runtime.tools import ToolContext
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.codec import content_to_json
from sessions_app.conf import conf
from sessions_app.invocations import running
from sessions_app.invocations.cancel import cancel_invocation
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.live.process import live
from sessions_app.live.relay import Relay
from sessions_app.models import Event, Invocation, Session
from sessions_app.store.sql import appends, leases
from sessions_app.store.sql.invocation_queue import NewInvocation
from tests.fakes import ScriptedModel, call, say, text_content
from tests.integration.another_process import another_process
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
NEVER = 3600.0
Heartbeat = Callable[[float], None]


class TalkingModel(BaseLlm):
    """Streams a few words, then says that this was all, or waits until it is cancelled."""

    is_scripted: ClassVar[bool] = True

    model: str = "talking"
    ends: bool = False
    _said: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)
    _closed: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)
    _requests: int = PrivateAttr(default=0)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests += 1
        try:
            for word in ("Once ", "upon ", "a "):
                yield LlmResponse(content=text_content(word), partial=True)
            self._said.set()
            if self.ends:
                yield LlmResponse(content=text_content("Once upon a "))
            else:
                await asyncio.Event().wait()
        finally:
            self._closed.set()


@pytest.fixture
def model(served: Served) -> TalkingModel:
    talking = TalkingModel()
    app = App(name="stories", root_agent=LlmAgent(name="teller", model=talking))
    served(app)
    return talking


@pytest.fixture
def heartbeat(monkeypatch: pytest.MonkeyPatch) -> Heartbeat:
    """Return a function that sets how often workers renew their leases; at first never."""

    def every(seconds: float) -> None:
        changed = replace(conf(), heartbeat_seconds=seconds)
        monkeypatch.setattr(running, "conf", lambda: changed)

    every(NEVER)
    return every


async def begin(
    on: InvocationWorker, person: User, until: asyncio.Event | None = None
) -> tuple[Session, str, asyncio.Task[Any]]:
    """Send a message that the worker answers, and wait for `until`. Return session, invocation id and task."""
    session = await use_cases.create_session(person, "stories")
    message = content_to_json(say("a story"))
    queued = await on.start(
        NewInvocation(session.pk, user_id=person.pk, client_id="m1", message=message, title="")
    )
    assert queued is not None
    task = on._running[queued.invocation_id].task
    if until is not None:
        await until.wait()
    return session, queued.invocation_id, task


async def events_of(session: Session) -> list[dict[str, Any]]:
    return [event.body async for event in Event.objects.filter(session=session).order_by("seq")]


async def status_of(invocation_id: str) -> str:
    return str((await Invocation.objects.aget(invocation_id=invocation_id)).status)


def lose_cancel_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Relay, "send_cancel", lambda self, invocation_id: None)


async def test_a_cancel_reaches_another_process_which_closes_the_model_and_keeps_the_text(
    person: User, model: TalkingModel, heartbeat: Heartbeat
) -> None:
    async with another_process() as other, asyncio.timeout(20):
        session, invocation_id, task = await begin(other, person, until=model._said)
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        await model._closed.wait()
        await task
    said, kept = await events_of(session)
    assert said["author"] == "user"
    assert kept["interrupted"] is True and kept["author"] == "teller"
    assert kept["content"]["parts"] == [{"text": "Once upon a "}]
    row = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (row.status, row.error_message, row.cancelled_by_id) == ("cancelled", "Stopped", person.pk)


async def test_a_cancel_whose_message_is_lost_is_found_by_the_heartbeat(
    person: User, model: TalkingModel, heartbeat: Heartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_cancel_messages(monkeypatch)
    heartbeat(0.05)
    async with another_process() as other, asyncio.timeout(20):
        session, invocation_id, task = await begin(other, person, until=model._said)
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        await task
    assert await status_of(invocation_id) == "cancelled"
    assert (await events_of(session))[-1]["content"]["parts"] == [{"text": "Once upon a "}]


async def test_a_cancelled_invocation_whose_process_died_is_ended_rather_than_resumed(
    person: User, model: TalkingModel, heartbeat: Heartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_cancel_messages(monkeypatch)
    async with another_process() as other, asyncio.timeout(20):
        session, invocation_id, _ = await begin(other, person, until=model._said)
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        past = timezone.now() - timedelta(seconds=1)
        await Session.objects.filter(pk=session.pk).aupdate(lease_expires_at=past)
        assert await leases.take_back_expired() == [session.pk]
        await InvocationWorker(live()).run_queue(session.pk)
    assert model._requests == 1
    assert await status_of(invocation_id) == "cancelled"
    assert [event.get("interrupted") for event in await events_of(session)] == [None, True]


async def test_a_cancelled_invocation_that_is_handed_over_is_ended_and_its_calls_are_sealed(
    person: User, heartbeat: Heartbeat, monkeypatch: pytest.MonkeyPatch, served: Served
) -> None:
    lose_cancel_messages(monkeypatch)
    begun = asyncio.Event()

    async def dig() -> None:
        """Wait forever."""
        begun.set()
        await asyncio.Event().wait()

    scripted = ScriptedModel(turns=[call("dig")])
    app = App(name="stories", root_agent=LlmAgent(name="teller", model=scripted, tools=[dig]))
    served(app)
    async with another_process() as other, asyncio.timeout(20):
        session, invocation_id, _ = await begin(other, person, until=begun)
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        await other.close()
        assert await status_of(invocation_id) == "queued"
        await InvocationWorker(live()).run_queue(session.pk)
    assert await status_of(invocation_id) == "cancelled"
    _, _, seal, end = await events_of(session)
    assert seal["content"]["parts"][0]["functionResponse"]["response"]["status"] == "interrupted"
    assert end["interrupted"] is True


async def test_a_cancel_ends_an_invocation_that_was_handed_over_and_is_queued(
    person: User, model: TalkingModel, heartbeat: Heartbeat
) -> None:
    async with another_process() as other, asyncio.timeout(20):
        session, invocation_id, _ = await begin(other, person, until=model._said)
        await other.close()
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        await InvocationWorker(live()).run_queue(session.pk)
    assert model._requests == 1
    assert await status_of(invocation_id) == "cancelled"
    assert [event.get("interrupted") for event in await events_of(session)] == [None, True]


async def test_an_invocation_cancelled_before_its_message_was_committed_has_it_in_the_log(
    person: User, model: TalkingModel, heartbeat: Heartbeat
) -> None:
    session = await use_cases.create_session(person, "stories")
    message = content_to_json(say("a story"))
    row = await Invocation.objects.acreate(
        session=session, invocation_id="e-1", client_id="m1", message=message, attempts=1
    )
    await use_cases.cancel(actors.person(person), session.pk, "e-1")
    async with asyncio.timeout(20):
        await worker().run_queue(session.pk)
    await row.arefresh_from_db()
    assert (row.status, model._requests) == ("cancelled", 0)
    said, end = await events_of(session)
    assert said["content"]["parts"] == [{"text": "a story"}]
    assert end["interrupted"] is True


async def test_an_end_that_a_dead_process_committed_is_not_committed_again(
    person: User, model: TalkingModel, heartbeat: Heartbeat
) -> None:
    async with asyncio.timeout(20):
        session, invocation_id, task = await begin(worker(), person, until=model._said)
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        await task
        before = await events_of(session)
        await Invocation.objects.filter(invocation_id=invocation_id).aupdate(status="queued")
        await worker().run_queue(session.pk)
    assert await status_of(invocation_id) == "cancelled"
    assert await events_of(session) == before


async def test_the_late_result_of_a_cancelled_tool_in_a_thread_is_dropped(
    person: User, heartbeat: Heartbeat, served: Served
) -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def count(tool_context: ToolContext) -> str:
        """Block until `release`; a thread cannot be cancelled."""
        begun.set()
        release.wait(20)
        tool_context.state["counted"] = True
        ended.set()
        return "three"

    scripted = ScriptedModel(turns=[call("count")])
    app = App(name="stories", root_agent=LlmAgent(name="teller", model=scripted, tools=[count]))
    served(app)
    async with asyncio.timeout(20):
        session, invocation_id, task = await begin(worker(), person)
        await asyncio.to_thread(begun.wait, 20)
        await use_cases.cancel(actors.person(person), session.pk, invocation_id)
        await task
        assert not ended.is_set()
        assert await status_of(invocation_id) == "cancelled"
        before = await events_of(session)
        release.set()
        await asyncio.to_thread(ended.wait, 20)
    assert await events_of(session) == before
    assert "three" not in str(before)
    await session.arefresh_from_db()
    assert session.state == {}


async def test_the_first_cancel_is_remembered_and_an_ended_invocation_stays_as_it_is(
    person: User, model: TalkingModel, heartbeat: Heartbeat
) -> None:
    staff = await User.objects.acreate(username="staff")
    session, invocation_id, task = await begin(worker(), person, until=model._said)
    await cancel_invocation(session, invocation_id, by=actors.staff(staff, ""), reason="It loops")
    await use_cases.cancel(actors.person(person), session.pk, invocation_id)
    async with asyncio.timeout(20):
        await task
    row = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (row.cancelled_by_id, row.cancel_reason, row.error_message) == (
        staff.pk,
        "It loops",
        "Stopped by staff",
    )
    (kept,) = [event for event in await events_of(session) if event.get("interrupted")]
    assert kept["customMetadata"] == {"adk_stopped_by": "staff"}
    finished_at = row.finished_at
    await use_cases.cancel(actors.person(person), session.pk, invocation_id)
    await row.arefresh_from_db()
    assert (row.status, row.finished_at) == ("cancelled", finished_at)


async def test_staff_cancel_in_the_admin_an_invocation_of_the_same_process(
    person: User, model: TalkingModel, heartbeat: Heartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_cancel_messages(monkeypatch)
    staff = await User.objects.acreate(username="staff", is_staff=True, is_superuser=True)
    client = AsyncClient()
    await client.aforce_login(staff)
    async with asyncio.timeout(20):
        session, invocation_id, task = await begin(worker(), person, until=model._said)
        row = await Invocation.objects.aget(invocation_id=invocation_id)
        stop = reverse("admin:sessions_app_invocation_stop", args=[row.pk])
        response = await client.post(stop, {"reason": "It loops"})
        await task
    assert response.status_code == 302
    assert await status_of(invocation_id) == "cancelled"
    assert (await events_of(session))[-1]["content"]["parts"] == [{"text": "Once upon a "}]


async def test_a_text_that_a_cancelled_commit_has_stored_is_kept_once(
    person: User, model: TalkingModel, heartbeat: Heartbeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL may have committed an event although the task that waited for it was cancelled."""
    model.ends = True
    append = appends.append

    async def append_and_cancel(new: appends.Append) -> appends.Committed | appends.AppendRefusal:
        committed = await append(new)
        if "upon" in new.body:
            monkeypatch.setattr(appends, "append", append)
            invocation = await Invocation.objects.select_related("session").aget()
            await use_cases.cancel(actors.person(person), invocation.session_id, invocation.invocation_id)
            await asyncio.Event().wait()
        return committed

    monkeypatch.setattr(appends, "append", append_and_cancel)
    async with asyncio.timeout(20):
        session, invocation_id, task = await begin(worker(), person)
        await task
    _, kept, end = await events_of(session)
    assert kept["content"]["parts"] == [{"text": "Once upon a "}]
    assert end["interrupted"] is True and "content" not in end
    assert await status_of(invocation_id) == "cancelled"
