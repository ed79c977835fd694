"""Jobs per second of a worker, and the latency from a job's end to the first word of the agent's answer.

The job's function does nothing, so the figures measure the path: commit of the call, broker, worker, result, broker,
worker, answer. Baseline: empty Celery tasks through the same broker and worker (a job is two tasks), and the time from
sending such a task to its start.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Max, Min
from redis.asyncio import Redis
from websockets.asyncio.client import ClientConnection

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation, Session, ToolJob
from sessions_app.process.threads import in_thread
from tests.benchmarks.celery_worker import PROCESSES, celery_worker
from tests.benchmarks.daphne import daphne
from tests.benchmarks.doors import Door, enter, make_doors
from tests.benchmarks.people import make_person
from tests.benchmarks.work import percentile
from tests.benchmarks.working.tasks import STAMPS, nothing, stamp

JOBS = int(os.environ.get("BENCH_JOBS", "300"))
TASKS = 2_000
ROUNDS = 40
SECONDS_OF_A_JOB = 0.2


async def measure() -> list[str]:
    """Return one line for the rate and one for the latency, each with its baseline."""
    rate, bare_rate = await _jobs_per_second(), await _tasks_per_second()
    waits, bare_waits = await _answer_latencies()
    return [
        f"jobs, one worker of {PROCESSES} processes: {rate:.0f}/s from call to answer; "
        f"bare Celery tasks {bare_rate:.0f}/s (a job is two)",
        f"from a job's end to the first word of the answer: {_summarize(waits)}; "
        f"from sending a bare task to its start: {_summarize(bare_waits)}",
    ]


async def _jobs_per_second() -> float:
    """Measure the worker alone: all calls are committed and sent before it starts."""
    person = await in_thread(make_person)
    rows = [Session(app_name="working", user=person, key=uuid4().hex) for _ in range(JOBS)]
    await Session.objects.abulk_create(rows)
    for row in rows:
        await use_cases.send_message(actors.person(person), row.pk, "m1", "0")
        for running in list(worker()._running.values()):
            await running.task
    jobs = ToolJob.objects.filter(session__user=person)
    answers = Invocation.objects.filter(
        session__user=person, client_id__startswith="job:", status="completed"
    )
    while await jobs.filter(sent_at__isnull=False).acount() < JOBS:
        await asyncio.sleep(0.05)
    with celery_worker():
        while await answers.acount() < JOBS:
            await asyncio.sleep(0.2)
    started = (await jobs.aaggregate(at=Min("started_at")))["at"]
    ended = (await answers.aaggregate(at=Max("finished_at")))["at"]
    return JOBS / float((ended - started).total_seconds())


async def _tasks_per_second() -> float:
    await asyncio.to_thread(_send_tasks)
    with celery_worker():
        first, last = await _read_stamps(2)
    return TASKS / (last[1] - first[1])


def _send_tasks() -> None:
    stamp.delay(time.time())
    for _ in range(TASKS):
        nothing.delay()
    stamp.delay(time.time())


async def _answer_latencies() -> tuple[list[float], list[float]]:
    """Measure jobs and bare tasks one by one on an idle site, each job in its own session."""
    doors = await in_thread(make_doors, ROUNDS + 1, "working")
    with celery_worker(), daphne("adk_site.asgi:application", "tests.benchmarks.settings") as (port, _):
        await _answer_latency(port, doors[0])  # fills the caches of the processes
        waits = [await _answer_latency(port, door) for door in doors[1:]]
        for _ in range(ROUNDS):
            await asyncio.to_thread(stamp.delay, time.time())
            await asyncio.sleep(SECONDS_OF_A_JOB)
        stamps = await _read_stamps(ROUNDS)
    return waits, [started - sent for sent, started in stamps]


async def _answer_latency(port: int, door: Door) -> float:
    socket = await enter(port, door)
    message = {"v": 1, "type": "message", "id": "m1", "text": str(SECONDS_OF_A_JOB)}
    await socket.send(json.dumps(message))
    answered_at = await _first_word(socket)
    await socket.close()
    job = await ToolJob.objects.aget(session_id=UUID(door.path.split("/")[3]))
    assert job.finished_at is not None
    return answered_at - job.finished_at.timestamp()


async def _first_word(socket: ClientConnection) -> float:
    """Return the time at which the first word of the agent's answer to the job arrives."""
    while True:
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == "partial" or "counted" in json.dumps(frame.get("event", "")):
            return time.time()


async def _read_stamps(count: int) -> list[tuple[float, float]]:
    """Wait for `count` stamp tasks; return when each was sent and when it started."""
    async with Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
        while await client.llen(STAMPS) < count:
            await asyncio.sleep(0.05)
        lines = await client.lrange(STAMPS, 0, count - 1)
        await client.ltrim(STAMPS, count, -1)
    stamps = [str(line).split() for line in lines]
    return [(float(sent), float(started)) for sent, started in stamps]


def _summarize(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return (
        f"median {1000 * statistics.median(ordered):.0f} ms, 95 % within {1000 * percentile(ordered, 0.95):.0f} ms, "
        f"worst {1000 * ordered[-1]:.0f} ms"
    )
