"""The agent of the time limit tests: a message names a job tool and a file; the agent calls it and tells its result.

No job reports progress, so none notices a cancellation by itself. Each run of a job adds a line to the file.
"""

from __future__ import annotations

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


server = McpToolset(connection_params=stdio_params(), tool_filter=["slow"])


def _record_and_sleep(run_log: str) -> str:
    with Path(run_log).open("a") as lines:
        lines.write("started\n")
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
        tools=[soft_limited, hard_limited, unlimited, stubborn, as_job(server)],
    ),
)
