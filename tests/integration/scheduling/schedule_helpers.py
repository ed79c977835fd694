"""Conversations with an agent that schedules tasks, for tests of scheduled tasks."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation, ScheduledTask, Session
from sessions_app.process import threads
from sessions_app.process.sweeping import sweep_over
from sessions_app.scheduling.firing import due_task_repair
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import last_responses, run_queue

WATER = "Remind the person to water the plants."


def converse(
    person: User, model: ScriptedModel, *turns: Any, session_id: UUID | None = None
) -> tuple[Session, str]:
    """Send a message, wait for the invocation to end, and return the session and the invocation id."""
    model.turns = [*turns]

    async def send_and_wait() -> tuple[UUID, str]:
        pk = session_id or (await use_cases.create_session(person, "garden")).pk
        number = await Invocation.objects.filter(session_id=pk).acount()
        invocation_id, _ = await use_cases.send_message(actors.person(person), pk, f"m{number}", "please")
        await worker().wait_until_idle()
        return pk, invocation_id

    pk, invocation_id = threads.run(send_and_wait())
    return Session.objects.get(pk=pk), invocation_id


def fire_due_tasks() -> None:
    """Run the repair that fires due tasks."""
    sweep_over([due_task_repair()])


def schedule(person: User, model: ScriptedModel, **args: Any) -> ScheduledTask:
    """Let the model schedule a task in a new session."""
    session, _ = converse(person, model, call("schedule_task", **{"task": WATER, **args}), "I will.")
    return ScheduledTask.objects.get(session=session)


def last_response(model: ScriptedModel) -> dict[str, Any]:
    """Return the first function response in the model's last request."""
    return last_responses(model)[0]


def make_due(task: ScheduledTask) -> None:
    ScheduledTask.objects.filter(pk=task.pk).update(next_at=timezone.now())


def run_invocations(session_id: UUID, model: ScriptedModel, *turns: Any) -> None:
    """Run the queued invocations of the session; the model plays `turns`."""
    model.turns = [*turns]
    run_queue(session_id)


def run_client_ids(task: ScheduledTask) -> list[str]:
    """Return the client ids of the invocations that the task started."""
    rows = Invocation.objects.filter(session_id=task.session_id, client_id__startswith="schedule:")
    return list(rows.order_by("id").values_list("client_id", flat=True))
