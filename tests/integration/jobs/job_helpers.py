"""Helpers for tests of jobs and scheduled tasks: a scripted agent, its messages, and workers run by the test."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import current_app
from django.contrib.auth.models import User

import sessions_app.tasks  # noqa: F401 - registers the tasks of a worker
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import BaseTool
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.jobs.repairs import job_repairs
from sessions_app.models import Event, Session, ToolJob
from sessions_app.process import threads
from sessions_app.process.sweeping import sweep_over
from tests.fakes import ScriptedModel
from tests.served_agents import Served


def clerk_with(tool: BaseTool, served: Served) -> ScriptedModel:
    """Make "reports" the site's only app, with one agent that has the tool; return the agent's model."""
    scripted = ScriptedModel()
    app = App(name="reports", root_agent=LlmAgent(name="clerk", model=scripted, tools=[tool]))
    served(app)
    return scripted


def talk(person: User, app_name: str, text: str) -> UUID:
    """Send a message in a new session and return the session's id when the invocation has ended."""

    session: Session = threads.run(use_cases.create_session(person, app_name))
    send(person, session.pk, "m1", text)
    return session.pk


def send(person: User, session_id: UUID, client_id: str, text: str) -> None:
    """Send a message and wait until the invocation has ended."""

    async def send_and_wait() -> None:
        await use_cases.send_message(actors.person(person), session_id, client_id, text)
        await worker().wait_until_idle()

    threads.run(send_and_wait())


def run_task(job: ToolJob) -> None:
    """Run the job's Celery task in this process."""
    current_app.tasks[job.task_name].apply(args=(str(job.pk),), throw=True)


def run_queue(session_id: UUID) -> None:
    """Run the session's queue as a Celery worker does, and wait for what an earlier call has begun."""

    async def run_to_end() -> None:
        await worker().run_queue(session_id)
        await worker().wait_until_idle()

    threads.run(run_to_end())


def sweep_jobs() -> None:
    """Run the repairs of jobs."""
    sweep_over(job_repairs())


def last_responses(model: ScriptedModel) -> list[dict[str, Any]]:
    """Return the function responses in the last content of the model's last request."""
    parts = model.requests[-1].contents[-1].parts or []
    found = [part.function_response for part in parts if part.function_response]
    return [response.response or {} for response in found]


def responses(session: Session) -> list[dict[str, Any]]:
    """Return the function responses that jobs or people gave."""
    rows = Event.objects.filter(session=session, author="user", kind="response").order_by("seq")
    return [part["functionResponse"] for row in rows for part in row.body["content"]["parts"]]
