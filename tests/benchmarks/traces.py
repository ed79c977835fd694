"""Cost of recording model requests: time of an invocation with and without, in turn, and bytes stored for each step.

The invocation: a message, a function call, its response, and an answer of twenty words.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.run_config import ModelCall
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import Session
from sessions_app.process.pool import fetch_one
from sessions_app.process.threads import in_thread
from sessions_app.store.model_calls import ModelCallLog
from tests.benchmarks.people import make_person
from tests.fakes import ScriptedModel, call

TURNS = 300
INSTRUCTION = "You answer questions about words. Be brief, be kind, and look each word up first. " * 10
ANSWER = " ".join(["word"] * 20)


def look_up(word: str) -> str:
    """Look a word up."""
    return word


async def measure() -> list[str]:
    """Return one line for the time and one for the bytes."""
    model = ScriptedModel()
    agent = LlmAgent(name="agent", model=model, instruction=INSTRUCTION, tools=[look_up])
    registry.apps = lambda: {"bench": App(name="bench", root_agent=agent)}
    person = await in_thread(make_person)
    notes: dict[bool, Callable[[ModelCallLog, ModelCall], None]] = {
        True: ModelCallLog.note,
        False: lambda log, call: None,
    }
    sessions = {is_on: await use_cases.create_session(person, "bench") for is_on in notes}
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(TURNS):
        for is_on in (True, False) if number % 2 else (False, True):
            ModelCallLog.note = notes[is_on]  # type: ignore[method-assign, assignment]
            times[is_on].append(await _turn_ms(person, sessions[is_on], model, number))
    ModelCallLog.note = notes[True]  # type: ignore[method-assign, assignment]
    bare = statistics.median(times[False])
    more = statistics.median(on - off for on, off in zip(times[True], times[False], strict=True))
    return [
        f"invocation without records of its two model requests: {bare:.2f} ms; with them {more:+.2f} ms, the median "
        f"of {TURNS} pairs: {more / bare:+.1%}",
        await _bytes_line(sessions[True]),
    ]


async def _turn_ms(person: User, session: Session, model: ScriptedModel, number: int) -> float:
    model.turns = [call("look_up", word="x"), ANSWER]
    started = time.perf_counter()
    await use_cases.send_message(actors.person(person), session.id, f"m{number}", "look it up")
    for running in list(worker()._running.values()):
        await running.task
    return (time.perf_counter() - started) * 1000


async def _bytes_line(session: Session) -> str:
    query = """
        SELECT count(*) AS steps, avg(pg_column_size(model_call)) AS record, avg(pg_column_size(body)) AS body,
            (SELECT sum(pg_column_size(t.*)) FROM sessions_app_sessiontext s
             JOIN sessions_app_requesttext t ON t.id = s.text_id WHERE s.session_id = %(id)s) AS texts
        FROM sessions_app_event WHERE session_id = %(id)s AND model_call IS NOT NULL"""
    row = await fetch_one(query, {"id": session.pk})
    assert row is not None
    return (
        "bytes stored for each of {steps} model requests: {record:.0f} beside the answer's event of {body:.0f}; "
        "once for all sessions {texts} for instruction, tools and configuration"
    ).format(**row)
