"""The agent of the time limit tests: a message names a job tool and a file; the agent calls it and tells its result.

No job reports progress, so none notices a cancellation by itself. Each run of a job adds a line to the file.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.models.llm_request import LlmRequest
from runtime.tools.mcp_tool import McpToolset
from sessions_app.jobs import as_job, job_tool
from tests.fakes import ScriptedModel, Turn, call
from tests.mcp_process import stdio_params

LONG_SECONDS = 60.0


@job_tool(soft_time_limit=3.0)  # A busy machine takes a second until the function begins.
def soft_limited(run_log: str) -> str:
    """Run into the soft time limit."""
    return _record_and_sleep(run_log)


@job_tool(time_limit=4.0)
def hard_limited(run_log: str) -> str:
    """Run into the hard time limit."""
    return _record_and_sleep(run_log)


@job_tool
def unlimited(run_log: str) -> str:
    """Run without a time limit."""
    return _record_and_sleep(run_log)


@job_tool
def stubborn(run_log: str) -> str:
    """Run without a time limit, and swallow every exception."""
    while True:
        try:
            return _record_and_sleep(run_log)
        except BaseException:  # noqa: BLE001 - what a careless author writes
            continue


def meet(run_log: str) -> dict[str, str]:
    """Wait until two calls are running."""
    _record(run_log)
    deadline = time.monotonic() + LONG_SECONDS
    while Path(run_log).read_text().count("started") < 2:
        if time.monotonic() > deadline:
            return {"status": "error", "error": "alone"}
        time.sleep(0.05)
    return {"status": "done", "error": "nothing"}


def die_once(run_log: str) -> dict[str, str]:
    """Kill the process in the first call."""
    _record(run_log)
    if Path(run_log).read_text().count("started") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"status": "done", "error": "nothing"}


server = McpToolset(connection_params=stdio_params(), tool_filter=["slow"])


def _record(run_log: str) -> None:
    with Path(run_log).open("a") as lines:
        lines.write("started\n")


def _record_and_sleep(run_log: str) -> str:
    _record(run_log)
    time.sleep(LONG_SECONDS)
    return "The job ended by itself."


def _answer(request: LlmRequest) -> Turn:
    part = (request.contents[-1].parts or [])[-1]
    if part.function_response is None:
        tool, run_log = (part.text or "").split()
        return call(tool, run_log=run_log)
    response = part.function_response.response or {}
    return (
        "The job has started."
        if response["status"] == "queued"
        else f"{response['status']}: {response['error']}"
    )


app = App(
    name="limited",
    root_agent=LlmAgent(
        name="limited",
        model=ScriptedModel(rule=_answer),
        tools=[soft_limited, hard_limited, unlimited, stubborn, meet, die_once, as_job(server)],
    ),
)
