"""Contract: an operator follows one invocation by its id in the log (docs/traces.md)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import InvocationWorker, worker
from sessions_app.jobs import job_tool
from sessions_app.live.process import live
from sessions_app.models import ToolJob
from sessions_app.process.json_logs import JsonFormatter
from tests.fakes import ScriptedModel, call
from tests.integration.jobs.job_helpers import clerk_with, run_task, talk
from tests.served_agents import Served


class Lines(logging.Handler):
    """Keeps what is logged as the lines of `JsonFormatter`."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter())
        self.lines: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))

    def about(self, invocation_id: str) -> list[str]:
        """Return the messages about an invocation, with the id left out."""
        own = [line for line in self.lines if line.get("invocation_id") == invocation_id]
        return [str(line["message"]).replace(f" {invocation_id}", "") for line in own]


@pytest.fixture
def log() -> Iterator[Lines]:
    handler = Lines()
    loggers = [logging.getLogger(name) for name in ("sessions_app", "shop")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


def look_up(word: str) -> str:
    """Look a word up."""
    logging.getLogger("shop").warning("There is no word %s", word)
    return "Nothing."


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    scripted = ScriptedModel()
    served(App(name="words", root_agent=LlmAgent(name="words", model=scripted, tools=[look_up])))
    return scripted


@pytest.mark.usefixtures("loop_end")
async def test_the_lines_of_an_invocation_tell_its_course_and_those_of_its_tools(
    person: User, model: ScriptedModel, log: Lines
) -> None:
    model.turns = [call("look_up", word="ant"), "It is unknown."]
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().wait_until_idle()
    begin, tool, end = log.about(invocation_id)
    assert (begin, tool) == ("Invocation begins, attempt 1", "There is no word ant")
    assert end.startswith("Invocation ends as completed after ")
    last = log.lines[-1]
    assert (last["status"], last["session_id"], last["tokens"]) == ("completed", str(session.pk), 0)


@pytest.mark.usefixtures("loop_end")
async def test_an_invocation_that_another_process_resumes_is_followed_by_the_same_id(
    person: User, model: ScriptedModel, log: Lines
) -> None:
    session = await use_cases.create_session(person, "words")
    invocation_id, _ = await use_cases.send_message(actors.person(person), session.pk, "m1", "hello")
    await worker().close()
    model.turns = ["Hello."]
    await InvocationWorker(live()).run_queue(session.pk)
    *course, end = log.about(invocation_id)
    assert course == [
        "Invocation begins, attempt 1",
        "Invocation is handed over to another process",
        "Invocation begins, attempt 2",
        "Invocation is resumed from its events, attempt 2",
    ]
    assert end.startswith("Invocation ends as completed")


def pack(boxes: int) -> dict[str, int]:
    """Pack boxes."""
    return {"packed": boxes}


@pytest.mark.usefixtures("background_end")
def test_a_job_is_followed_by_its_own_id_and_by_the_id_of_its_invocation(
    person: User, served: Served, log: Lines
) -> None:
    model = clerk_with(job_tool(pack), served)
    model.turns = [call("pack", boxes=3), "It is being packed."]
    talk(person, "reports", "pack")
    job = ToolJob.objects.get()
    run_task(job)
    begin, end = log.about(job.invocation_id)[-2:]
    assert begin == f"Job {job.pk} of pack begins, attempt 1"
    assert end == f"Job {job.pk} of pack ends as succeeded"
    assert str(job.pk) in [line.get("job_id") for line in log.lines]
