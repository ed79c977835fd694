"""Contract: a run that begins a job goes on until the job has reported; the job's questions are interrupts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sessions_app.invocations.worker import worker
from sessions_app.jobs import confirm, job_tool
from sessions_app.models import Invocation, ToolJob
from sessions_app.process.threads import in_thread
from tests.ag_ui_page import Page
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import run_task


@job_tool()
def send_report(customers: int) -> str:
    """Send the report to the customers.

    Args:
        customers: How many.
    """
    return "sent" if confirm(f"Send it to {customers} customers?") else "not sent"


@pytest.fixture
def tools() -> list[Any]:
    return [send_report]


async def run_queued_job() -> None:
    """Run the job as a worker of Celery does, once it is queued."""
    while not (job := await ToolJob.objects.filter(status="queued").afirst()):
        await asyncio.sleep(0.05)
    await worker().wait_until_idle()
    await in_thread(run_task, job)


async def test_the_question_of_a_job_is_an_interrupt_and_its_report_ends_the_run(
    page: Page, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    model.turns += [call("send_report", customers=7), "It runs.", "It is sent."]
    await page.send("Report, please")
    await run_queued_job()
    asked = await page.result()
    [interrupt] = asked["interrupts"]
    assert (interrupt["message"], interrupt["responseSchema"]) == (
        "Send it to 7 customers?",
        {"type": "boolean"},
    )
    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": True}
    await page.send(resume=[entry])
    await run_queued_job()
    while not (row := await Invocation.objects.filter(client_id__startswith="job:").afirst()):
        await asyncio.sleep(0.05)
    await worker().run_queue(row.session_id)
    ended = await page.result()
    assert (ended["error"], ended["interrupts"]) == (None, [])
    [result] = [message["content"] for message in ended["messages"] if message["role"] == "tool"]
    assert json.loads(result) == {"status": "succeeded", "result": "sent"}
    assert ended["messages"][-1]["content"] == "It is sent."
