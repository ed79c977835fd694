"""Contract: with the import hook, a module written for google-adk gets the modules of `runtime`; without, it does not.

Each case runs in a process of its own, because the hook stays for the life of a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from adk_site.embedded.paths import CHECKOUT

INSTALL = "from runtime import google_adk; google_adk.install();"


def python(code: str, *paths: Path) -> str:
    """Run code in a new process; return its output, or the last line of its traceback."""
    answer = subprocess.run(
        [sys.executable, "-c", dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, *paths)))},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return (answer.stdout or answer.stderr.strip().splitlines()[-1]).strip()


@pytest.fixture
def google_adk(tmp_path: Path) -> Path:
    """A directory with an installed google-adk, as far as an import can tell."""
    package = tmp_path / "google" / "adk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("origin = 'the other one'")
    return tmp_path


def test_without_the_hook_google_adk_is_missing() -> None:
    assert python("import runtime, google.adk") == "ModuleNotFoundError: No module named 'google.adk'"


SAME_OBJECTS = [
    ("from google import adk", "adk is runtime"),
    ("import google.adk.agents.llm_agent as module", "module is runtime.agents.llm_agent"),
    ("from google.adk.agents import Agent", "Agent is runtime.agents.LlmAgent"),
    ("from google.adk.tools.mcp_tool.mcp_toolset import McpToolset as M", "M is runtime.tools.McpToolset"),
    ("import google.adk.agents", "google.adk.agents is runtime.agents"),
    ("import google.adk.agents", "runtime.agents.__spec__.name == 'runtime.agents'"),
    ("from google.genai import types", "types.__name__ == 'google.genai.types'"),
]
IN_A_FORK_EACH = """
import os
for statement, same in {cases}:
    if os.fork() == 0:
        exec(statement)
        import runtime.agents, runtime.tools
        print(same, eval(same), flush=True)
        os._exit(0)
    os.wait()
"""


def test_names_below_google_adk_are_the_same_objects() -> None:
    """Imports the runtime once, which takes seconds; no statement finds what another has imported."""
    printed = python(INSTALL + IN_A_FORK_EACH.format(cases=SAME_OBJECTS))
    assert printed.splitlines() == [f"{same} True" for _, same in SAME_OBJECTS]


def test_a_module_that_the_runtime_lacks_is_named_in_the_error() -> None:
    error = python(f"{INSTALL} import google.adk.no_such_part")
    assert error == "ModuleNotFoundError: No module named 'google.adk.no_such_part'"
    look_up = "from importlib.util import find_spec; print(find_spec('google.adk.no_such_part'))"
    assert python(f"{INSTALL} {look_up}") == "None"


def test_an_installed_google_adk_stays_unless_it_is_to_be_replaced(google_adk: Path) -> None:
    assert "google-adk is installed" in python(INSTALL, google_adk)
    replace = "from runtime import google_adk; google_adk.install(replace=True); import google.adk;"
    assert python(f"{replace} print(google.adk.__name__)", google_adk) == "runtime"
    assert "is imported already" in python(f"import google.adk; {replace}", google_adk)
