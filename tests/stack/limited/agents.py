"""The agent: it starts the job that a message names, and tells what became of it. No job says how far it is."""

from __future__ import annotations

import time
from pathlib import Path

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_request import LlmRequest
from sessions_app.jobs import job_tool
from tests.fakes import ScriptedModel, Turn, call

LONG_SECONDS = 60.0


@job_tool(soft_time_limit=0.5)
def be_told(diary: str) -> str:
    """Is told to stop."""
    return _go_on(diary)


@job_tool(time_limit=1.0)
def be_killed(diary: str) -> str:
    """Is killed."""
    return _go_on(diary)


@job_tool
def be_silent(diary: str) -> str:
    """Has no limit."""
    return _go_on(diary)


def _go_on(diary: str) -> str:
    with Path(diary).open("a") as lines:
        lines.write("begun\n")
    time.sleep(LONG_SECONDS)
    return "It ended by itself."


def _answer(request: LlmRequest) -> Turn:
    part = (request.contents[-1].parts or [])[-1]
    if part.function_response is None:
        tool, diary = (part.text or "").split()
        return call(tool, diary=diary)
    response = part.function_response.response or {}
    return "It has begun." if response["status"] == "queued" else f"{response['status']}: {response['error']}"


app = App(
    name="limited",
    root_agent=LlmAgent(
        name="limited", model=ScriptedModel(rule=_answer), tools=[be_told, be_killed, be_silent]
    ),
)
