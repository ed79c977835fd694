"""Contract: agent folders written for google-adk are served without a change; a broken one costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.test import Client

from adk_site.embedded.paths import CHECKOUT
from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.agent_apps import registry
from sessions_app.agent_apps.loading.faces import Face
from sessions_app.rendering.faces import app_face
from tests.integration.agent_apps.reported_problems import messages, problems
from tests.integration.conftest import WriteFolder

AGENT = """
from google.adk.agents import Agent
root_agent = Agent(name="forecaster", model="demo")
"""


def root_of(app_name: str) -> LlmAgent:
    root = registry.get_app(app_name).root_agent
    assert isinstance(root, LlmAgent)
    return root


@pytest.mark.parametrize(
    "files",
    [
        {"agent": AGENT},
        {"__init__": "from . import agent", "agent": AGENT},
        {"__init__": "from . import forecaster as agent", "forecaster": AGENT},
        {"__init__": AGENT},
        {"__init__": "from .agent import root_agent", "agent": AGENT},
        {
            "__init__": "from . import agent",
            "agent": f"{AGENT}\nfrom google.adk.apps import App\napp = App(name='other', root_agent=root_agent)",
        },
    ],
)
def test_each_layout_of_google_adk_is_an_app_named_after_its_folder(
    write_folder: WriteFolder, files: dict[str, str]
) -> None:
    write_folder("weather", **files)
    assert problems() == []
    assert list(registry.apps()) == ["help_desk", "weather"]
    assert root_of("weather").name == "forecaster"
    assert registry.starters("weather") == ()


@pytest.mark.parametrize(
    "files",
    [
        {"agent": f"{AGENT}\nstarters = ['Will it rain?']"},
        {
            "__init__": "from . import forecaster as agent",
            "forecaster": f"{AGENT}\nstarters = ['Will it rain?']",
        },
        {"__init__": f"{AGENT}\nstarters = ['Will it rain?']"},
    ],
)
def test_a_folder_offers_messages_to_begin_with(write_folder: WriteFolder, files: dict[str, str]) -> None:
    write_folder("weather", **files)
    assert registry.starters("weather") == ("Will it rain?",)


@pytest.mark.parametrize("module", ["agent", "__init__"])
def test_a_folder_gives_its_agents_faces(write_folder: WriteFolder, module: str) -> None:
    write_folder(
        "weather", **{module: f"{AGENT}\nfaces = {{'forecaster': {{'name': 'Sky', 'color': 'blue'}}}}"}
    )
    assert registry.faces("weather") == {"forecaster": Face(name="Sky", color="blue")}
    assert registry.faces("no_such_app") == {}
    assert (app_face("weather").name, app_face("help_desk").name) == ("Sky", "Help desk")


def test_a_folder_may_describe_its_agent_in_yaml(agent_dir: Path) -> None:
    folder = agent_dir / "weather_file"
    folder.mkdir()
    (folder / "root_agent.yaml").write_text("name: forecaster\ninstruction: Tell the weather.\nmodel: demo\n")
    assert problems() == []
    assert root_of("weather_file").instruction == "Tell the weather."


def test_modules_of_a_folder_import_each_other_both_ways(write_folder: WriteFolder) -> None:
    write_folder(
        "weather",
        __init__="",
        sky="COLOUR = 'blue'",
        agent=f"{AGENT}\nfrom weather.sky import COLOUR\nfrom .sky import COLOUR as own\n"
        "root_agent.instruction = COLOUR + own",
    )
    assert root_of("weather").instruction == "blueblue"


def test_folders_without_an_agent_are_left_out(agent_dir: Path, write_folder: WriteFolder) -> None:
    write_folder("library", __init__="'Helpers of agents.'\nVALUE = 1")
    write_folder("notes", todo="")
    write_folder(".hidden", agent=AGENT)
    (agent_dir / "loose.py").write_text(AGENT)
    (problem,) = problems()
    assert problem.startswith(f"sessions_app.W004 '{agent_dir}' in ADK['agent_dirs'] has no agent folder: ")
    assert list(registry.apps()) == ["help_desk"]


@pytest.mark.parametrize(
    ("folder", "files", "expected"),
    [
        (
            "weather",
            {"agent": "\nimport no_such_package"},
            "No module named 'no_such_package' (line 2 of {}/agent.py).",
        ),
        (
            "weather",
            {"agent": "import google.adk.no_such_part"},
            "No module named 'google.adk.no_such_part' (line 1 of",
        ),
        (
            "weather",
            {"agent": "from . import sky", "sky": "\n\n)"},
            "SyntaxError: unmatched ')' (line 3 of {}/sky.py).",
        ),
        ("weather", {"__init__": "("}, "SyntaxError: '(' was never closed (line 1 of {}/__init__.py)."),
        (
            "weather",
            {"agent": "(" * 1000},
            "SyntaxError: too many nested parentheses (line 1 of {}/agent.py).",
        ),
        ("weather", {"agent": "import sys\nsys.exit(3)"}, "SystemExit: 3 (line 2 of {}/agent.py)."),
        (
            "weather",
            {"agent": "agent = 1"},
            "neither weather nor weather.agent defines a root_agent or an app.",
        ),
        (
            "weather",
            {"agent": "root_agent = 'me'"},
            "neither weather nor weather.agent defines a root_agent or an app.",
        ),
        (
            "weather",
            {"agent": f"{AGENT}\nstarters = 'Will it rain?'"},
            "weather.agent: starters must be a list of at most 6 messages; it is 'Will it rain?'.",
        ),
        (
            "weather",
            {"agent": f"{AGENT}\nfaces = {{'forecaster': {{'color': '#123456'}}}}"},
            "weather.agent.faces: dict[str,Face].forecaster.color: Input should be",
        ),
        (
            "weather",
            {"agent": f"{AGENT}\nfaces = {{'forcaster': {{}}}}"},
            "weather.agent.faces names 'forcaster', which is no agent of the app: forecaster.",
        ),
        ("two-words", {"agent": AGENT}, "its name 'two-words' cannot be imported"),
        ("json", {"__init__": "from . import agent", "agent": AGENT}, "another module is called 'json'"),
        ("help_desk", {"agent": AGENT}, "another agent is called 'help_desk'. Rename the folder."),
        ("user", {"agent": AGENT}, "Invalid app name 'user'"),
    ],
)
def test_a_broken_folder_is_a_warning_with_file_and_line_and_the_other_apps_are_served(
    write_folder: WriteFolder, person: User, folder: str, files: dict[str, str], expected: str
) -> None:
    write_folder("climate", agent=AGENT)
    broken = write_folder(folder, **files)
    (warning,) = problems()
    assert warning.startswith(f"sessions_app.W004 The agent folder '{broken}' is not served: ")
    assert expected.format(broken) in warning
    client = Client()
    client.force_login(person)
    page = client.get("/").content.decode()
    assert "climate" in page and "help_desk" in page


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            """
            class Scale(BaseTool):
                def _get_declaration(self):
                    raise LookupError("no weights")

            tools = [Scale(name="scale", description="Weighs.")]
            """,
            "Tool 'scale' of agent 'forecaster' cannot be declared: LookupError: no weights",
        ),
        (
            """
            def weigh() -> int:
                "Weigh."

            tools = [weigh, weigh]
            """,
            "Agent 'forecaster' has several tools 'weigh'.",
        ),
        (
            """
            class Scales(BaseToolset):
                async def get_tools(self, readonly_context=None):
                    return []

                def setup_problems(self):
                    raise LookupError("no weights")

            tools = [Scales()]
            """,
            "Scales of agent 'forecaster' cannot be used: LookupError: no weights",
        ),
    ],
)
def test_a_flaw_of_a_folder_is_a_warning_that_lets_the_site_start(
    write_folder: WriteFolder, source: str, expected: str
) -> None:
    imports = "from google.adk.agents import Agent\nfrom google.adk.tools import BaseTool, BaseToolset\n"
    agent = "root_agent = Agent(name='forecaster', model='demo', tools=tools)\n"
    write_folder("weather", agent=imports + dedent(source) + agent)
    assert problems() == [f"sessions_app.W005 {expected}"]
    (warning,) = messages(tags=["agents"])
    assert not warning.is_serious()


def test_a_file_that_is_not_utf_8_is_a_broken_folder(write_folder: WriteFolder) -> None:
    folder = write_folder("weather", agent="")
    (folder / "agent.py").write_bytes(b"name = '\xff'")
    (warning,) = problems()
    assert "W004" in warning and "utf-8" in warning.lower() and "agent.py" in warning


def test_settings_of_a_broken_folder_are_no_further_problem(
    agent_dir: Path, write_folder: WriteFolder, configure: Callable[..., None]
) -> None:
    write_folder("weather", agent="import no_such_package")
    configure(agent_dirs=[str(agent_dir)], apps={"weather": {"queue_policy": "reject"}})
    assert [problem.split()[0] for problem in problems()] == ["sessions_app.W004"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("absent", "'{}' in ADK['agent_dirs'] is no directory."),
        (
            "agents/weather",
            "'{}' in ADK['agent_dirs'] is itself an agent folder: name the directory above it.",
        ),
    ],
)
def test_a_directory_that_cannot_hold_folders_is_named(
    tmp_path: Path, write_folder: WriteFolder, configure: Callable[..., None], name: str, expected: str
) -> None:
    write_folder("weather", agent=AGENT)
    configure(agent_dirs=[str(tmp_path / name)])
    assert problems() == [f"sessions_app.W004 {expected.format(tmp_path / name)}"]
    assert list(registry.apps()) == ["help_desk"]


@pytest.mark.parametrize("place", [CHECKOUT, CHECKOUT.parent, CHECKOUT / "adk_site"])
def test_a_directory_with_the_code_of_the_site_is_refused(
    configure: Callable[..., None], place: Path
) -> None:
    configure(agent_dirs=[str(place)])
    (problem,) = problems()
    inner = place if place.name == "adk_site" else CHECKOUT
    assert problem == (
        f"sessions_app.W004 '{place}' in ADK['agent_dirs'] contains code of the site ('{inner}'): move the agent "
        "folders into a directory of their own, and name that."
    )


def test_beside_an_installed_google_adk_a_setting_decides(
    tmp_path: Path,
    agent_dir: Path,
    write_folder: WriteFolder,
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = tmp_path / "installed"
    (installed / "google" / "adk").mkdir(parents=True)
    (installed / "google" / "adk" / "__init__.py").touch()
    monkeypatch.syspath_prepend(installed)
    folder = write_folder("weather", agent=AGENT)
    assert problems() == [
        f"sessions_app.W004 The agent folder '{folder}' is not served: google-adk is installed: uninstall it, or let "
        "google.adk be this runtime by ADK['replace_google_adk'] = True."
    ]
    configure(agent_dirs=[str(agent_dir)], replace_google_adk=True)
    assert problems() == []
    assert root_of("weather").name == "forecaster"


def test_two_folders_of_one_name_are_both_named_and_the_first_is_served(
    tmp_path: Path, write_folder: WriteFolder, agent_dir: Path, configure: Callable[..., None]
) -> None:
    first, second = write_folder("weather", agent="import no_such_package"), tmp_path / "more" / "weather"
    second.mkdir(parents=True)
    (second / "agent.py").write_text(AGENT)
    configure(agent_dirs=[str(agent_dir), str(second.parent)])
    broken, taken = problems()
    assert f"'{first}' is not served: ModuleNotFoundError: No module named 'no_such_package'" in broken
    assert taken == (
        f"sessions_app.W004 The agent folder '{second}' is not served: another agent is called 'weather'. "
        "Rename the folder."
    )
    assert list(registry.registry().problems) == ["weather", str(second)]


def test_threads_that_ask_at_once_get_one_registry(write_folder: WriteFolder) -> None:
    write_folder("weather", agent=f"import threading\nthreading.Event().wait(0.2)\n{AGENT}")
    both = Barrier(2)

    def ask() -> App:
        both.wait()
        return registry.get_app("weather")

    with ThreadPoolExecutor(2) as threads:
        first, second = [asked.result() for asked in [threads.submit(ask), threads.submit(ask)]]
    assert first is second


def test_the_env_file_of_a_folder_is_read_and_changes_no_variable_that_is_set(
    agent_dir: Path, write_folder: WriteFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITY", "Oslo")
    for name in ("REGION", "COUNTRY"):
        monkeypatch.delenv(name, raising=False)
    (agent_dir / ".env").write_text("COUNTRY=Norway\nREGION=everywhere\n")
    source = f"{AGENT}\nimport os\nroot_agent.instruction = ' '.join(map(str, map(os.environ.get, {{}})))"
    names = ["CITY", "REGION", "COUNTRY"]
    (write_folder("own", agent=source.format(names)) / ".env").write_text("CITY=Paris\nREGION='the north'\n")
    assert root_of("own").instruction == "Oslo the north None"
    write_folder("shared", agent=source.format(names))
    registry.forget_registry()
    assert root_of("shared").instruction == "Oslo the north Norway"
