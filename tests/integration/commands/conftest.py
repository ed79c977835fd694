"""An agent folder for the commands that talk to agents, and a process of the site with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adk_site.embedded.paths import CHECKOUT
from tests.integration.commands.terminal import site_environment
from tests.integration.conftest import WriteFolder

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


@pytest.fixture
def manage(clerk: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a command of `manage.py` to its end."""

    def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=CHECKOUT,
            env=site_environment(AGENT_DIRS=str(clerk), **environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
