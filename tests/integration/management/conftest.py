"""An agent folder for the commands that talk to agents, and a process of the site with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import TextIOWrapper
from pathlib import Path

import pytest

from tests.forked_program import ForkServer
from tests.integration.conftest import WriteFolder
from tests.integration.management.terminal import SECONDS, site_environment

LATE_IMPORTS = (
    "adk_site.urls",
    *(f"sessions_app.contrib.terminal.management.commands.{name}" for name in ("adk_chat", "adk_run")),
)
"""Modules that the start of a command imports after `django.setup`."""
AGENT = '''
from runtime.agents import LlmAgent
from runtime.testing import ScriptedModel, call
from runtime.tools import FunctionTool, get_user_choice
from sessions_app.jobs import ask, job_tool

def delete(name: str) -> dict[str, str]:
    """Delete a file."""
    return {"deleted": name}

@job_tool
def bake(cake: str) -> dict[str, str]:
    """Bake a cake."""
    return {"baked": f"{cake} with {ask('Which icing?')}"}

CALLS = {
    "delete": call("delete", name="notes.txt"),
    "choose": call("get_user_choice", options=["tea", "coffee"]),
    "bake": call("bake", cake="a cake"),
}

def answer(request):
    part = request.contents[-1].parts[-1]
    if part.function_response:
        return f"The result is {part.function_response.response}."
    text = part.text or ""
    if text == "fail":
        raise RuntimeError("The model is ill.")
    if text == "control":
        return "\\x1b]0;owned\\x07\\x1b[2J\\u202eevil\\rover"
    if text == "count":
        return "".join(f"{number} " for number in range(150))
    return "word " * 400 if text == "long" else CALLS.get(text, f"You said {text}")

model = ScriptedModel(rule=answer, pause=0.02)
tools = [FunctionTool(delete, title="Delete {name}", require_confirmation=True), get_user_choice, bake]
root_agent = LlmAgent(name="clerk", model=model, tools=tools)
'''


@pytest.fixture
def clerk(write_folder: WriteFolder) -> Path:
    """The directory with the agent folder `clerk`, which this process and others serve."""
    return write_folder("clerk", agent=AGENT).parent


@pytest.fixture(scope="package")
def fork_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """The site with the agent folder `clerk`, ready to be forked for a command."""
    folder = tmp_path_factory.mktemp("agents") / "clerk"
    folder.mkdir()
    (folder / "agent.py").write_text(AGENT)
    with ForkServer(site_environment(AGENT_DIRS=str(folder.parent)), *LATE_IMPORTS) as server:
        yield server


@pytest.fixture
def manage(fork_server: ForkServer) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a command of `manage.py` to its end."""

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        (inside, typed), (read_out, out), (read_err, err) = (os.pipe() for _ in range(3))
        files = (inside, out, err)
        process = fork_server.run("manage", *arguments, environment=site_environment(), files=files)
        for file in files:
            os.close(file)
        with open(typed, "w") as pipe:
            pipe.write(stdin)
        with ThreadPoolExecutor() as pool, open(read_out) as output, open(read_err) as errors:
            texts = list(pool.map(TextIOWrapper.read, (output, errors)))
        return subprocess.CompletedProcess(arguments, process.wait(SECONDS), *texts)

    return run
