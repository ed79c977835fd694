"""Contract: `manage.py adk_import` tells what an agent folder needs, and how to serve it; it changes no file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import psutil
import pytest
from django.core.management import CommandError, call_command

import runtime.tools
from runtime.errors import how_to_install

WEATHER = """
from typing import Literal
from google.adk.agents import Agent
from google.genai import types
from .cities import CITIES

def get_weather(city: str, days: int = 3, unit: Literal["c", "f"] = "c", tool_context=None) -> dict:
    '''Look up the weather of a city.

    Args:
        city: Its name.
    '''

helper = Agent(name="helper", model="demo")
root_agent = Agent(name="forecaster", model="demo", tools=[get_weather], sub_agents=[helper])
"""

Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Write an agent folder `weather`; `agent` stands for `agent.py`."""

    def write(**files: str) -> Path:
        directory = tmp_path / "weather"
        directory.mkdir()
        for name, text in files.items():
            (directory / f"{name}.py").write_text(dedent(text))
        return directory

    return write


def adk_import(path: Path, seconds: float = 60) -> str:
    out = StringIO()
    call_command("adk_import", str(path), seconds=seconds, stdout=out, no_color=True)
    return out.getvalue()


def refusal(path: Path, seconds: float = 60) -> tuple[str, str]:
    """Return what the command wrote before it failed, and its error."""
    out = StringIO()
    with pytest.raises(CommandError) as raised:
        call_command("adk_import", str(path), seconds=seconds, stdout=out, no_color=True)
    return out.getvalue(), str(raised.value)


def test_a_folder_that_works_is_described_with_the_line_that_serves_it(folder: Folder) -> None:
    weather = folder(agent=WEATHER, cities="CITIES = ['Oslo']")
    (weather / ".env").write_text("CITY=Oslo")
    before = sorted(weather.rglob("*"))
    assert adk_import(weather) == dedent(
        f"""\
        Imports
          all are found
        Environment
          {weather}/.env is read; variables that are set stay as they are
        Agents, and their tools as the model sees them
          forecaster  LlmAgent, model demo
            - get_weather(city: string, days?: integer, unit?: "c" | "f"): Look up the weather of a city.
            helper  LlmAgent, model demo
        Differences from google-adk
          docs/adk-differences.md lists what behaves otherwise here
        This setting serves weather
          ADK["agent_dirs"] = ["{weather.parent}"]
          or, without an edit: AGENT_DIRS={weather.parent} make run
        """
    )
    assert sorted(weather.rglob("*")) == before


def test_every_missing_import_is_named_with_its_line(folder: Folder) -> None:
    weather = folder(
        agent="""\
            import no_such_package.part
            from google.adk.agents import Agent, NoSuchAgent
            from google.adk.no_such_part import Thing
            import google.adk.no_such_part.inner
            from google.no_such_part import thing
            from weather.tools import find
            """,
        tools="""\
            try:
                import optional_package
            except ImportError:
                pass
            def find():
                from google import no_such_part, genai
            """,
        broken="\ndef (",
        nested="-" * 200_000,
    )
    out, error = refusal(weather)
    lines = [line.strip() for line in out.splitlines()]
    nested = [line for line in lines if "nested.py" in line]
    assert [line.startswith("not Python: ") for line in nested] == [True], "Its reason depends on the Python."
    lacks = "which this runtime does not have: docs/adk-api.md gives the reasons"
    assert [line for line in lines if line not in nested] == [
        "Imports",
        f"missing  no_such_package, which is not installed  (line 1 of {weather}/agent.py)",
        f"missing  google.adk.agents.NoSuchAgent, {lacks}  (line 2 of {weather}/agent.py)",
        f"missing  google.adk.no_such_part, {lacks}  (line 3 of {weather}/agent.py)",
        f"missing  google.adk.no_such_part.inner, {lacks}  (line 4 of {weather}/agent.py)",
        f"missing  google.no_such_part, which is not installed  (line 5 of {weather}/agent.py)",
        f"not Python: invalid syntax  (line 2 of {weather}/broken.py)",
        f"missing  google.no_such_part, which is not installed  (line 6 of {weather}/tools.py)",
    ]
    assert error.endswith(f"No module named 'no_such_package' (line 1 of {weather}/agent.py).")


def test_a_part_that_needs_another_package_is_named_with_the_remedy(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    for name in [name for name in sys.modules if name.startswith("runtime.tools.mcp_tool")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(runtime.tools, "mcp_tool", raising=False)
    weather = folder(
        agent="""\
            from google.adk.agents import Agent
            from google.adk.tools import McpToolset
            from google.adk.tools.mcp_tool import McpToolset, MCPToolset
            from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
            import google.adk.tools.mcp_tool
            root_agent = Agent(name="forecaster", model="demo")
            """
    )
    remedy = f"McpToolset needs the package 'mcp': {how_to_install('mcp')}"
    names = ["", ".mcp_tool", ".mcp_tool.mcp_toolset", ".mcp_tool"]
    assert [line.strip() for line in adk_import(weather).splitlines()][1:5] == [
        f"missing  google.adk.tools{name}: {remedy}  (line {number} of {weather}/agent.py)"
        for number, name in enumerate(names, start=2)
    ]


def test_a_folder_may_use_the_site_start_threads_and_have_a_tool_that_cannot_be_declared(
    folder: Folder,
) -> None:
    """Imports for type checkers are not missed, a thread that never ends holds nothing up, and each tool is listed."""
    weather = folder(
        agent="""\
            import threading
            import typing
            from typing import TYPE_CHECKING
            from django.conf import settings
            from google.adk.agents import Agent
            from google.adk.tools import BaseTool
            from sessions_app.jobs import job_tool
            if TYPE_CHECKING:
                import no_such_package
            if typing.TYPE_CHECKING:
                from no_such_package import Thing
            else:
                import json

            threading.Thread(target=threading.Event().wait).start()

            class Scale(BaseTool):
                def _get_declaration(self):
                    raise LookupError("no weights")

            @job_tool
            def measure() -> int:
                "Measure."

            def read() -> int:
                "Read."

            scale = Scale(name="scale", description="Weighs.")
            root_agent = Agent(name="forecaster", model=settings.ADK_MODEL, tools=[scale, measure, read])
            """
    )
    out = adk_import(weather)
    assert out.startswith("Imports\n  all are found\n")
    assert "- scale  (cannot be declared: LookupError: no weights)\n" in out
    assert "- measure" in out
    assert "- read(): Read." in out


def test_agents_that_cannot_be_listed_are_an_error_of_their_own(folder: Folder) -> None:
    weather = folder(
        agent="""\
            from google.adk.agents import Agent

            class Odd(Agent):
                @property
                def canonical_model(self):
                    raise LookupError("no model")

            root_agent = Odd(name="forecaster")
            """
    )
    assert refusal(weather)[1] == f"The agents of '{weather}' cannot be listed: LookupError: no model."


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nos._exit(7)", "Its import ended the process with code 7."),
        ("print('x' * 10_000_000)", "neither weather nor weather.agent defines a root_agent or an app."),
    ],
)
def test_code_that_ends_its_process_or_prints_much_is_an_error_in_one_sentence(
    folder: Folder, source: str, expected: str
) -> None:
    assert refusal(folder(agent=source))[1].endswith(expected)


def test_an_import_that_never_ends_is_killed_with_all_that_it_started(folder: Folder) -> None:
    mark = uuid4().hex
    weather = folder(
        agent=f"""\
            import subprocess, sys
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"])
            while True:
                pass
            """
    )
    assert refusal(weather, seconds=4)[1] == "Its import did not end within 4 s."
    end = time.monotonic() + 30
    while commands_ending_with(mark):  # A busy machine takes its time to end what was killed.
        assert time.monotonic() < end
        time.sleep(0.01)


def commands_ending_with(argument: str) -> list[list[str]]:
    """Return the command lines of the processes of this machine with this last argument."""
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [command for command in commands if command[-1:] == [argument]]


def test_a_file_that_is_not_utf_8_is_named(folder: Folder) -> None:
    weather = folder(agent="")
    (weather / "agent.py").write_bytes(b"name = '\xff'")
    out, error = refusal(weather)
    assert "not Python: (unicode error) 'utf-8' codec can't decode byte 0xff" in out
    assert "utf-8" in error


def test_a_path_that_is_no_agent_folder_is_refused_with_the_remedy(folder: Folder, tmp_path: Path) -> None:
    weather = folder(agent=WEATHER)
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "absent")[1] == f"There is no '{tmp_path}/absent'."
    assert refusal(weather / "agent.py")[1].endswith("is a file: name the folder that it is in.")
    assert refusal(tmp_path)[1].endswith(
        "is no agent folder. It holds agent folders: weather. Name one of them."
    )
    (weather / "inner").mkdir()
    (weather / "inner" / "agent.py").write_text(
        WEATHER.replace("from .cities", "from math").replace("CITIES", "pi")
    )
    assert refusal(weather / "inner")[1].endswith("is itself an agent folder: name the directory above it.")
    assert refusal(tmp_path / "empty")[1].endswith("is no agent folder. Define root_agent in its agent.py.")
