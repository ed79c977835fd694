"""Contract: with the import hook, a module written for google-adk gets the modules of `runtime`; without, it does not.

Each case runs in a process of its own, because the hook stays for the life of a process: in a fork of one that has
imported the runtime, which takes seconds. No case finds what another has imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adk_site.embedded.paths import CHECKOUT

INSTALL = "from runtime import google_adk; google_adk.install();"
IN_FORKS = """
import json, os, sys
import runtime.google_adk
for line in sys.stdin:
    if os.fork() == 0:
        code, path = json.loads(line)
        sys.path += path
        try:
            exec(code)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""
Python = Callable[..., str]


@pytest.fixture(scope="module")
def python() -> Iterator[Python]:
    """Function that runs code in a new process; it returns the line that the code prints, or its error."""
    command = [sys.executable, "-c", IN_FORKS]
    with subprocess.Popen(
        command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def run(code: str, *paths: Path) -> str:
            assert process.stdin and process.stdout
            print(json.dumps([code, [*map(str, paths)]]), file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        yield run


@pytest.fixture
def google_adk(tmp_path: Path) -> Path:
    """A directory with an installed google-adk, as far as an import can tell."""
    package = tmp_path / "google" / "adk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("origin = 'the other one'")
    return tmp_path


def test_without_the_hook_google_adk_is_missing(python: Python) -> None:
    assert python("import google.adk") == "ModuleNotFoundError: No module named 'google.adk'"


SAME_OBJECTS = [
    ("from google import adk", "adk is runtime"),
    ("import google.adk.agents.llm_agent as module", "module is runtime.agents.llm_agent"),
    ("from google.adk.agents import Agent", "Agent is runtime.agents.LlmAgent"),
    ("from google.adk.tools.mcp_tool.mcp_toolset import McpToolset as M", "M is runtime.tools.McpToolset"),
    ("import google.adk.agents", "google.adk.agents is runtime.agents"),
    ("import google.adk.agents", "runtime.agents.__spec__.name == 'runtime.agents'"),
    ("from google.genai import types", "types.__name__ == 'google.genai.types'"),
]


@pytest.mark.parametrize(("statement", "same"), SAME_OBJECTS)
def test_names_below_google_adk_are_the_same_objects(python: Python, statement: str, same: str) -> None:
    assert python(f"{INSTALL} {statement}; import runtime.agents, runtime.tools; print({same})") == "True"


def test_a_module_that_the_runtime_lacks_is_named_in_the_error(python: Python) -> None:
    error = python(f"{INSTALL} import google.adk.no_such_part")
    assert error == "ModuleNotFoundError: No module named 'google.adk.no_such_part'"
    look_up = "from importlib.util import find_spec; print(find_spec('google.adk.no_such_part'))"
    assert python(f"{INSTALL} {look_up}") == "None"


def test_an_installed_google_adk_stays_unless_it_is_to_be_replaced(python: Python, google_adk: Path) -> None:
    assert "google-adk is installed" in python(INSTALL, google_adk)
    replace = "from runtime import google_adk; google_adk.install(replace=True); import google.adk;"
    assert python(f"{replace} print(google.adk.__name__)", google_adk) == "runtime"
    assert "is imported already" in python(f"import google.adk; {replace}", google_adk)
