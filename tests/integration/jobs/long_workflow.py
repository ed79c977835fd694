"""Workflow of twenty nodes, and a program that drives it and dies at a commit; `test_killed_workflows.py` runs it.

`python -m tests.integration.jobs.long_workflow DOOR SESSION DEATH` sends the message, runs the session's queue and its
job, and answers the questions, until nothing is left. It kills itself right after the commit with the number DEATH.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import django
import psycopg
from django.db import connection

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.events import Event, RequestInput
from runtime.events.calls import REQUEST_INPUT
from runtime.models import LlmRequest
from runtime.testing import ScriptedModel
from runtime.workflow import JoinNode, NodeContext, RetryConfig, WaitNode, Workflow, node
from sessions_app.jobs import job_tool

EFFECTS = "WORKFLOW_EFFECTS"
"""Environment variable with the path of the file to which each effect adds a line."""
ROUNDS = 3
FAILURES = 2
MOST_ACTS = 10
"""Limit of jobs run and questions answered; without a kill there are four."""


def _effect(name: str) -> int:
    """Record an effect that no rollback undoes; return how often it has happened."""
    path = Path(os.environ[EFFECTS])
    with path.open("a") as file:
        file.write(f"{name}\n")
    return path.read_text().split().count(name)


def _step(name: str) -> Callable[[Any, NodeContext], str]:
    def run(node_input: Any, ctx: NodeContext) -> str:
        _effect(name)
        ctx.state[name] = True
        return name

    run.__name__ = name
    return run


def _question(name: str) -> Callable[[], RequestInput]:
    def ask() -> RequestInput:
        _effect(name)
        return RequestInput(message=f"{name}?", response_schema=str)

    ask.__name__ = name
    return ask


def _agent(name: str) -> LlmAgent:
    def answer(request: LlmRequest) -> str:
        _effect(name)
        return f"{name} has read it."

    return LlmAgent(name=name, model=ScriptedModel(rule=answer))


def count(rounds: int = 0) -> Event:
    _effect(f"count{rounds}")
    return Event(
        output={"order": f"o{rounds}"},
        state={"rounds": rounds + 1},
        route="again" if rounds + 1 < ROUNDS else "done",
    )


@job_tool
def pay(order: str) -> dict[str, str]:
    """Pay an order.

    Args:
        order: The order.
    """
    _effect("pay")
    return {"paid": order}


@node(retry_config=RetryConfig(max_attempts=FAILURES + 1, initial_delay=0.01, jitter=0))
def mail(node_input: Any) -> str:
    if _effect("mail") <= FAILURES:
        raise OSError("The mail server is away.")
    return "mailed"


def long_workflow() -> App:
    """Return the app with the workflow."""
    checked = JoinNode(name="checked")
    told = JoinNode(name="told")
    decide = _question("decide")
    sign = _step("sign")
    workflow = Workflow(
        name="long",
        edges=[
            (
                "START",
                _step("read"),
                (_step("stock"), _step("fraud"), _agent("writer")),
                checked,
                decide,
                count,
            ),
            (count, {"again": count, "done": pay}),
            (pay, mail, _step("book"), _agent("translator"), _question("review"), sign),
            (
                sign,
                (_step("file"), _step("print"), _step("stamp")),
                told,
                _step("close"),
                WaitNode(name="weigh", seconds=0.01),
                _step("finish"),
            ),
        ],
    )
    return App(name="long", root_agent=workflow)


class Death:
    """SIGKILL of this process right after one of its commits, before it knows of the commit.

    The server gives each transaction that writes a number. A connection of its own reads it after each exchange with
    the server that leaves no transaction open.
    """

    def __init__(self, commit: int) -> None:
        url = os.environ["DATABASE_URL"]
        self._lock = threading.Lock()
        self._observer = psycopg.pq.PGconn.connect(url.encode())
        self._first = self._last_transaction()
        self._commit = commit
        for kind in (psycopg.Connection, psycopg.AsyncConnection):
            self._watch(kind)

    @property
    def commits(self) -> int:
        """Number of commits until now."""
        return self._last_transaction() - self._first

    def _last_transaction(self) -> int:
        with self._lock:  # several threads of a process commit
            result = self._observer.exec_(b"SELECT pg_snapshot_xmax(pg_current_snapshot())")
        value = result.get_value(0, 0)
        assert value is not None
        return int(value)

    def _watch(self, kind: Any) -> None:
        wait = kind.wait

        def wait_and_die(self_: Any, *args: Any, **kwargs: Any) -> Any:
            result = wait(self_, *args, **kwargs)
            self._die_when_due(self_)
            return result

        async def wait_and_die_async(self_: Any, *args: Any, **kwargs: Any) -> Any:
            waiting: Awaitable[Any] = wait(self_, *args, **kwargs)
            result = await waiting
            self._die_when_due(self_)
            return result

        kind.wait = wait_and_die_async if kind is psycopg.AsyncConnection else wait_and_die

    def _die_when_due(self, used: psycopg.Connection[Any]) -> None:
        is_idle = used.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if is_idle and self.commits >= self._commit:
            os.kill(os.getpid(), signal.SIGKILL)


def drive(door: str, session_id: UUID) -> None:
    """Do all that is left to do in the session.

    Args:
        door: `web`, where a message and an answer run in the process that takes them; `worker`, where that process is
            about to end, and a worker takes them from the queue.
    """
    from django.utils import timezone

    from sessions_app import use_cases
    from sessions_app.base import actors
    from sessions_app.invocations.worker import InvocationWorker, worker
    from sessions_app.live.process import live
    from sessions_app.models import AnswerRequest, Session, ToolJob
    from sessions_app.process import threads
    from sessions_app.store.sql import leases
    from tests.integration.jobs.job_helpers import run_task, sweep_jobs

    session = Session.objects.select_related("user").get(pk=session_id)
    actor = actors.person(session.user)
    past = timezone.now() - timedelta(hours=1)

    async def take(act: Awaitable[Any]) -> None:
        worker()._is_closing = door == "worker"
        await act
        await worker().wait_until_idle()

    async def run_queue() -> None:
        await leases.take_back_expired()
        await InvocationWorker(live()).run_queue(session_id)

    def run_all() -> None:
        """Take over what a dead process has left, as the sweep does when its lease has expired."""
        Session.objects.filter(pk=session_id).exclude(lease_owner="").update(lease_expires_at=past)
        ToolJob.objects.filter(session=session_id, status="running").update(heartbeat_at=past)
        ToolJob.objects.filter(session=session_id, sent_at=None).update(created_at=past)
        sweep_jobs()
        threads.run(run_queue())

    threads.run(take(use_cases.send_message(actor, session_id, "m1", "Order 1")))
    run_all()
    for _ in range(MOST_ACTS):
        job = ToolJob.objects.filter(session=session_id, delivered_at=None).first()
        asked = AnswerRequest.objects.filter(session=session_id, tool_name=REQUEST_INPUT).first()
        if job is not None:
            run_task(job)
        elif asked is not None:
            answer = {"result": f"answer to {asked.effect}"}
            threads.run(take(use_cases.answer_call(actor, session_id, asked.call_id, REQUEST_INPUT, answer)))
        else:
            return
        run_all()
    raise AssertionError(f"After {MOST_ACTS} acts a job or a question is still open.")


def main() -> None:
    from celery import current_app

    from sessions_app.agent_apps import registry
    from sessions_app.process import threads
    from sessions_app.shutdown import shut_down

    app = long_workflow()
    door, session_id, death = sys.argv[1:]
    connection.ensure_connection()
    watch = Death(int(death))
    # This program runs what is sent to the broker.
    with patch.object(registry, "apps", lambda: {app.name: app}), patch.object(current_app, "send_task"):
        drive(door, UUID(session_id))
        print(watch.commits, flush=True)
        threads.run(shut_down())


if __name__ == "__main__":
    django.setup()
    main()
