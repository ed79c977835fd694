"""Several jobs of one model turn that end in another order while another invocation runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.jobs import job_tool
from sessions_app.models import Event, Invocation, JobStatus, ToolJob
from sessions_app.process import threads
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, responses, run_queue, run_task, sweep_jobs, talk
from tests.served_agents import Served

RUNS: list[int] = []


@job_tool
def write_chapter(number: int) -> dict[str, Any]:
    """Write a chapter."""
    RUNS.append(number)
    return {"chapter": number}


@pytest.fixture
def model(served: Served, person: User, broker: list[tuple[str, str]], background_end: None) -> ScriptedModel:
    RUNS.clear()
    return clerk_with(write_chapter, served)


def test_jobs_of_one_moment_keep_their_order_when_they_change(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    chapters = [call("write_chapter", f"c{number}", number=number) for number in range(6)]
    model.turns = [chapters, "On their way."]
    talk(person, "reports", "six chapters")
    ToolJob.objects.update(created_at=timezone.now() - timedelta(hours=1), sent_at=None)
    by_key = list(ToolJob.objects.order_by("pk"))
    # PostgreSQL stores a changed row behind the others: here in the opposite order, and in the order of the keys.
    for changes in (reversed(by_key), by_key):
        for job in changes:
            job.save()
        broker.clear()
        sweep_jobs()
        assert [job_id for job_id, _ in broker] == [str(job.pk) for job in by_key]
        assert list(ToolJob.objects.all().open_and_recent()) == by_key[::-1]


def test_each_job_is_answered_once_in_the_order_in_which_the_jobs_end(
    person: User, model: ScriptedModel, broker: list[tuple[str, str]]
) -> None:
    release_model = asyncio.Event()
    chapters = [call("write_chapter", f"c{number}", number=number) for number in (1, 2, 3)]
    model.turns = [
        chapters,
        "All three are on their way.",
        release_model,
        "The third.",
        "The first.",
        "The second.",
    ]
    session_id = talk(person, "reports", "three chapters")
    jobs = {job.args["number"]: job for job in ToolJob.objects.select_related("session")}
    assert sorted(broker) == sorted((str(job.pk), job.task_name) for job in jobs.values())

    threads.run(use_cases.send_message(actors.person(person), session_id, "m2", "And the cover?"))
    for number in (3, 1, 2):
        for _ in range(2):  # the broker may deliver a task twice
            run_task(jobs[number])
            sweep_jobs()
    assert responses(jobs[1].session) == []
    assert Invocation.objects.get(client_id="m2").status == "running"

    async def release() -> None:
        release_model.set()
        await worker().wait_until_idle()

    threads.run(release())
    for job in jobs.values():
        run_task(job)
    sweep_jobs()
    run_queue(session_id)

    assert RUNS == [3, 1, 2]
    assert [job.status for job in ToolJob.objects.all()] == [JobStatus.SUCCEEDED] * 3
    answered = [(response["id"], response["response"]["chapter"]) for response in responses(jobs[1].session)]
    assert answered == [("c3", 3), ("c1", 1), ("c2", 2)]
    later = Event.objects.filter(session=session_id).order_by("seq")[4:]
    assert [event.text or event.kind for event in later] == [
        "And the cover?", "released", "response", "The third.", "response", "The first.", "response", "The second."
    ]  # fmt: skip
    rows = Invocation.objects.order_by("id").values_list("client_id", "status")
    assert list(rows) == [
        (client_id, "completed") for client_id in ("m1", "m2", *(f"job:{jobs[n].pk}" for n in (3, 1, 2)))
    ]
