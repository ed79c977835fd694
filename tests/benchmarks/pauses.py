"""CPU of the pauses of a workflow: from the answer to a question to the next question, in a long session."""

from __future__ import annotations

import statistics
import time

from runtime.apps import App
from runtime.events import Event
from runtime.events.calls import REQUEST_INPUT
from runtime.events.request_input import RequestInput
from runtime.workflow import NodeContext, Workflow
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import AnswerRequest
from sessions_app.process.threads import in_thread
from tests.benchmarks.people import make_person

PAUSES = 100
SESSIONS = 12
NEIGHBOURS = 10
"""Pauses at each end of a session whose median counts."""


def ask(n: int = 0) -> RequestInput:
    """Ask the person."""
    return RequestInput(message=f"{n}?")


def go_on(ctx: NodeContext, n: int = 0) -> Event:
    """Choose the way back to the question."""
    return Event(state={"n": n + 1}, route="again" if n <= PAUSES else "end")


async def measure() -> list[str]:
    """Return a line with the CPU of the first and the hundredth pause."""
    flow = Workflow(name="flow", edges=[("START", ask, go_on, {"again": ask})])
    registry.apps = lambda: {"bench": App(name="bench", root_agent=flow)}
    person = await in_thread(make_person)
    firsts: list[float] = []
    lasts: list[float] = []
    for number in range(SESSIONS + 1):
        session = await use_cases.create_session(person, "bench")
        await use_cases.send_message(actors.person(person), session.id, "m", "go")
        await _end_of_run()
        times = []
        for _ in range(PAUSES):
            asked = await AnswerRequest.objects.aget(session_id=session.id)
            began = time.process_time()
            await use_cases.answer_call(
                actors.person(person), session.id, asked.call_id, REQUEST_INPUT, {"result": "on"}
            )
            await _end_of_run()
            times.append((time.process_time() - began) * 1000)
        if number:  # The first session warms up.
            firsts += times[:NEIGHBOURS]
            lasts += times[-NEIGHBOURS:]
    first = statistics.median(firsts)
    last = statistics.median(lasts)
    return [
        f"pause of a workflow: {first:.2f} ms of CPU at the beginning, {last:.2f} ms after {PAUSES} "
        f"({last / first:.2f} times)"
    ]


async def _end_of_run() -> None:
    for running in list(worker()._running.values()):
        await running.task
