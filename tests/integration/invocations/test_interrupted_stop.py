"""An interrupting message keeps the record of an earlier cancel (docs/limits.md, contract R2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation
from sessions_app.store.sql import cancel_requests
from tests.fakes import ScriptedModel
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")


async def test_an_earlier_cancel_by_staff_is_remembered_when_the_person_interrupts(
    person: User, configure: Callable[..., None], served: Served
) -> None:
    configure(queue_policy="interrupt")
    scripted = ScriptedModel(turns=[asyncio.Event(), "Hello."])
    app = App(name="words", root_agent=LlmAgent(name="words", model=scripted))
    served(app)
    staff = await User.objects.acreate(username="staff")
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "first")
    while not scripted.requests:
        await asyncio.sleep(0.01)
    await cancel_requests.request_cancel(  # Only the row: the process that runs the invocation does not know yet.
        session.pk,
        invocation_id,
        by=actors.staff(staff, ""),
        reason="It loops",
        error_code="",
        error_message="",
    )
    requested_at = (await Invocation.objects.aget(invocation_id=invocation_id)).cancel_requested_at
    await use_cases.send_message(actors.person(person), session.pk, "m2", "second")
    await worker().wait_until_idle()
    row = await Invocation.objects.aget(invocation_id=invocation_id)
    assert (row.cancelled_by_id, row.cancel_reason, row.cancel_requested_at) == (
        staff.pk,
        "It loops",
        requested_at,
    )
    assert (row.status, row.error_message) == ("cancelled", "Stopped by staff")
    end = await Event.objects.filter(session=session, body__interrupted=True).aget()
    assert end.body["customMetadata"] == {"adk_stopped_by": "staff"}
    assert (await Invocation.objects.aget(client_id="m2")).status == "completed"
