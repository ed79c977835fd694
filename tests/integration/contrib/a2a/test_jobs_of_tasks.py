"""Jobs of a task: they keep it working, their questions are input-required, and their progress is news."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from a2a.client import Client
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, Task, TaskStatusUpdateEvent

from sessions_app.api.tasks.site_task import load_task
from sessions_app.api.tasks.task_feed import TaskFeed
from sessions_app.contrib.a2a.handler import updates_of
from sessions_app.invocations.worker import worker
from sessions_app.jobs import ask, confirm, job_tool, progress
from sessions_app.live.notices import job_notice
from sessions_app.live.process import live
from sessions_app.models import Invocation, ToolJob
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel, call
from tests.integration.contrib.a2a.talk import message, question_of, say, state_of, text_of
from tests.integration.jobs.job_helpers import run_task


@job_tool()
def send_report(customers: int) -> dict[str, Any]:
    """Send the report to the customers.

    Args:
        customers: How many.
    """
    progress(1, 2, "Counting")
    if not confirm(f"Send it to {customers} customers?"):
        return {"summary": "Nothing was sent."}
    return {"summary": f"Sent in {ask('In which language?', ['English', 'German'])}."}


@pytest.fixture
def tools() -> list[Any]:
    return [send_report]


async def run_job() -> ToolJob:
    """Run the job as a worker of Celery does."""
    job: ToolJob = await ToolJob.objects.alatest("created_at")
    await in_thread(run_task, job)
    await job.arefresh_from_db()
    return job


async def run_response() -> None:
    """Run the invocation that tells the agent of the end of the job, as a worker process does."""
    while not (row := await Invocation.objects.filter(client_id__startswith="job:").afirst()):
        await asyncio.sleep(0.05)
    await worker().run_queue(row.session_id)


async def begun(program: Client, model: ScriptedModel) -> tuple[asyncio.Task[Task], str]:
    """Send a message whose job is queued; return the stream that follows the task, and the id of the task."""
    model.turns += [call("send_report", customers=7), "It runs."]
    following = asyncio.create_task(say(program, "Report, please"))
    while not await ToolJob.objects.aexists():
        await asyncio.sleep(0.05)
    await worker().wait_until_idle()
    row = await ToolJob.objects.aget()
    return following, row.invocation_id


async def test_a_job_keeps_the_task_working_until_its_question_waits_and_is_answered(
    program: Client, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    following, task_id = await begun(program, model)
    assert state_of(await program.get_task(GetTaskRequest(id=task_id))) == "working"
    await run_job()
    asked = await asyncio.wait_for(following, 20)
    assert (state_of(asked), question_of(asked)) == ("input_required", "Send it to 7 customers? (yes or no)")

    following = asyncio.create_task(say(program, message("yes", task_id=task_id)))
    while (await ToolJob.objects.aget()).status != "queued":
        await asyncio.sleep(0.05)
    await run_job()
    asked = await asyncio.wait_for(following, 20)
    assert question_of(asked) == "In which language? (English, German)"

    model.turns.append("It is sent.")
    following = asyncio.create_task(say(program, message("German", task_id=task_id)))
    while (await ToolJob.objects.aget()).status != "queued":
        await asyncio.sleep(0.05)
    await run_job()
    await run_response()
    task = await asyncio.wait_for(following, 20)
    assert (task.id, state_of(task)) == (task_id, "completed")
    assert text_of(task).endswith("It is sent.")
    assert "Sent in German." in str(model.requests[-1].contents)
    assert list((await program.list_tasks(ListTasksRequest(include_artifacts=True))).tasks) == [task]


async def test_the_progress_of_a_running_job_is_news(
    program: Client, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    following, task_id = await begun(program, model)
    progress_made = {"progress_done": 1, "progress_total": 2, "progress_message": "Counting"}
    await ToolJob.objects.aupdate(status="running", **progress_made)
    rows = Invocation.objects.select_related("session")
    updates = updates_of(TaskFeed(await load_task(await rows.aget(invocation_id=task_id))))
    first = asyncio.create_task(anext(updates))
    job = await ToolJob.objects.aget()  # Meanwhile the stream begins to follow the session.
    live().hub.publish_notice(job.session_id, job_notice(job))
    update = await asyncio.wait_for(first, 20)
    assert isinstance(update, TaskStatusUpdateEvent)
    assert update.status.message.parts[0].text == "50 % Counting"
    await updates.aclose()
    following.cancel()


async def test_cancelling_the_task_cancels_its_job(
    program: Client, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    following, task_id = await begun(program, model)
    model.turns.append("It was cancelled.")
    cancelling = asyncio.create_task(program.cancel_task(CancelTaskRequest(id=task_id)))
    await run_response()
    task = await asyncio.wait_for(cancelling, 20)
    assert text_of(task).endswith("It was cancelled.")
    assert state_of(await asyncio.wait_for(following, 20)) == "completed"
