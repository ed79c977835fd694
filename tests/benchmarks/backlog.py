"""10,000 queued jobs beside 300: what a worker does in a second, and what people and staff wait for in the meantime.

One job is called by a message; its rows are copied for the others, and all are sent to the broker before a worker
starts. The first `DONE` answers count.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx2
import psutil
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Event, Invocation, Session, ToolJob
from sessions_app.process.celery_dispatch import send_job
from sessions_app.process.threads import in_thread
from tests.benchmarks.celery_worker import celery_worker
from tests.benchmarks.crowd import crowd
from tests.benchmarks.daphne import cpu_seconds, memory
from tests.benchmarks.doors import make_doors, sign_in
from tests.benchmarks.people import make_person
from tests.benchmarks.servers import postgres_cpu_seconds
from tests.benchmarks.shapes import site, visit
from tests.benchmarks.work import Work

QUEUED = (300, 10_000)
DONE = 200
PAGES = (
    "",
    "activity/",
    "admin/",
    "admin/sessions_app/tooljob/",
    "admin/sessions_app/tooljob/?status=queued",
)


async def measure() -> list[str]:
    """Return the lines of each number of queued jobs, the smaller one first."""
    lines = []
    for queued in QUEUED:
        person = await in_thread(make_person)
        person.is_staff = person.is_superuser = True
        await person.asave()
        await _queue(person, queued)
        async with site() as (port, process):
            cookie = await in_thread(sign_in, person)
            async with httpx2.AsyncClient(headers={"Cookie": cookie}, timeout=120) as browser:
                for page in PAGES:
                    seen = await visit(browser, f"http://127.0.0.1:{port}/{page}", process)
                    lines.append(f"{queued} queued jobs, /{page}: {seen}")
            with celery_worker() as workers:
                work = asyncio.create_task(_work(person, workers))
                async with crowd(port, process, await in_thread(make_doors, 5, "paced")) as people:
                    lines.append(
                        f"{queued} queued jobs, a chat beside: {await people.do(Work(5, has_call=False))}"
                    )
                lines.append(f"{queued} queued jobs, a worker: {await work}")
    return lines


async def _queue(person: User, number: int) -> None:
    session = await use_cases.create_session(person, "working")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "0")
    for running in list(worker()._running.values()):
        await running.task
    await in_thread(_copy_session, session, number)
    jobs = ToolJob.objects.filter(session__user=person)
    tasks = [task async for task in jobs.values_list("pk", "task_name")]
    for pk, name in tasks:
        await in_thread(send_job, pk, name)


def _copy_session(session: Session, number: int) -> None:
    job = ToolJob.objects.get(session=session)
    of_copy = "md5('session' || n || row.session_id)::uuid"
    with connection.cursor() as cursor:
        # The copies are what the site would have written: no triggers.
        cursor.execute("SET session_replication_role = replica")
        key = {"id": "md5('session' || n || row.id)::uuid", "key": "n::text"}
        _copy_rows(cursor, Session, f"row.id = '{session.pk}'", number, key)
        invocation = f"'{job.invocation_id}-' || n"
        job_id = f"md5('job' || n || '{job.pk}')::uuid"
        body = f"replace(row.body::text, '{job.invocation_id}', {invocation})"
        changes: dict[type[Model], dict[str, str]] = {
            Event: {"body": f"replace({body}, '{job.pk}', {job_id}::text)::jsonb"},
            Invocation: {"invocation_id": invocation},
            ToolJob: {"id": job_id, "invocation_id": invocation},
        }
        for model, changed in changes.items():
            changed["session_id"] = of_copy
            _copy_rows(cursor, model, f"row.session_id = '{session.pk}'", number, changed)
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("ANALYZE")


def _copy_rows(cursor: Any, model: type[Model], condition: str, number: int, changes: dict[str, str]) -> None:
    columns = [str(field.column) for field in model._meta.concrete_fields if not field.generated]
    if "id" not in changes:
        columns.remove("id")
    values = [changes.get(column, f"row.{column}") for column in columns]
    table = model._meta.db_table
    cursor.execute(
        f"INSERT INTO {table} ({', '.join(columns)})"
        f" SELECT {', '.join(values)} FROM {table} row, generate_series(1, %s) n WHERE {condition}",
        [number - 1],
    )


async def _work(person: User, workers: psutil.Process) -> str:
    answers = Invocation.objects.filter(
        session__user=person, client_id__startswith="job:", status="completed"
    )
    jobs = ToolJob.objects.filter(session__user=person)
    while not await jobs.filter(started_at__isnull=False).aexists():
        await asyncio.sleep(0.05)
    began, worker_cpu, postgres = time.time(), _cpu_of(workers), postgres_cpu_seconds()
    while (done := await answers.acount()) < DONE:
        await asyncio.sleep(0.5)
    worker_cpu = 1000 * (_cpu_of(workers) - worker_cpu) / done
    postgres = 1000 * (postgres_cpu_seconds() - postgres) / done
    used = sum(memory(process) for process in (workers, *workers.children(recursive=True)))
    rate = done / (time.time() - began)
    return f"{rate:.0f}/s, CPU {worker_cpu:.1f} + {postgres:.1f} ms (PostgreSQL) a job, {used / 1e6:.0f} MB"


def _cpu_of(workers: psutil.Process) -> float:
    return sum(cpu_seconds(process) for process in (workers, *workers.children(recursive=True)))
