"""Duration of an invocation without the model's own time, by the length of the history.

The invocation: a message, a function call, its response, and an answer of twenty words.
"""

from __future__ import annotations

import statistics
import time

from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models import LlmRequest
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.base import actors
from sessions_app.base.codec import event_to_json
from sessions_app.invocations.worker import worker
from sessions_app.process.pool import fetch_one
from sessions_app.process.threads import in_thread
from sessions_app.store import DjangoSessionService
from tests.benchmarks.people import WORDS, fill, make_person, message_event
from tests.fakes import ScriptedModel, call

TURNS = 40
ANSWER = " ".join(["word"] * 20)


def look_up(word: str) -> str:
    """Look a word up."""
    return word


async def measure(histories: tuple[int, ...] = (10, 100, 1_000, 5_000)) -> list[str]:
    """Return the baseline, a bare insert, and one line for each length with its ratio to the first length."""
    model = ScriptedModel()
    app = App(name="bench", root_agent=LlmAgent(name="agent", model=model, tools=[look_up]))
    registry.apps = lambda: {"bench": app}
    person = await in_thread(make_person)
    medians = {events: await _median_ms(person, model, events) for events in histories}
    first = medians[histories[0]]
    return [
        f"a bare insert into the same PostgreSQL: {await _insert_ms(person):.2f} ms",
        *(
            f"invocation after {events:5} events: {ms:5.2f} ms above model and tool ({ms / first:.2f} times)"
            for events, ms in medians.items()
        ),
    ]


async def _median_ms(person: User, model: ScriptedModel, events: int) -> float:
    session = await use_cases.create_session(person, "bench")
    service = DjangoSessionService()
    loaded = await service.get_session(app_name="bench", user_id=str(person.pk), session_id=session.key)
    assert loaded is not None
    await fill(service, loaded, events)
    times = []
    for number in range(TURNS):
        model.turns = [call("look_up", word="x"), ANSWER]
        started = time.perf_counter()
        await use_cases.send_message(actors.person(person), session.id, f"m{number}", "look it up")
        for running in list(worker()._running.values()):
            await running.task
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times) - await _model_ms(model)


async def _model_ms(model: ScriptedModel) -> float:
    """Measure the model alone: the median time to yield the responses of one invocation."""
    times = []
    for _ in range(TURNS):
        model.turns = [call("look_up", word="x"), ANSWER]
        started = time.perf_counter()
        while model.turns:
            async for _response in model.generate_content_async(LlmRequest(), stream=True):
                pass
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


async def _insert_ms(person: User) -> float:
    """Measure the median time to insert one event row."""
    session = await use_cases.create_session(person, "bench")
    body = event_to_json(message_event("agent", WORDS))
    query = """
        INSERT INTO sessions_app_event (session_id, seq, body)
        VALUES (%(id)s, %(seq)s, %(body)s::jsonb) RETURNING seq"""
    times = []
    for number in range(TURNS):
        started = time.perf_counter()
        await fetch_one(query, {"id": session.pk, "seq": number + 1, "body": body})
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)
