"""Contract: in development a changed agent is served without a restart; what runs ends on the version it began with.

A version that cannot be imported changes nothing, and its error is shown with file and line.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from celery import current_app
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import modify_settings
from django.utils.html import escape

from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.agent_apps.reload import Reload, reload_if_changed
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.jobs.tool import JobTool
from sessions_app.models import Event
from tests.integration.conftest import WriteFolder

SPEAKER = """
import asyncio
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types
from .words import WORD

begun, gate = asyncio.Event(), asyncio.Event()

class Speaker(BaseAgent):
    async def _run_async_impl(self, ctx):
        begun.set()
        await gate.wait()
        yield Event(author=self.name, content=types.ModelContent(WORD))

root_agent = Speaker(name="speaker")
"""
CLERK = """
from runtime.agents import LlmAgent
from sessions_app.jobs import job_tool
from .prices import PRICE

@job_tool
def price(item: str) -> int:
    "Look up a price."
    return PRICE

root_agent = LlmAgent(name="clerk", model="demo", tools=[price])
"""


@pytest.fixture(autouse=True)
def reload_agents(agent_dir: Path, configure: Callable[..., None]) -> None:
    """Ask for the reload, which the settings of the tests turn off."""
    configure(agent_dirs=[str(agent_dir)], reload_agents=True)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed app with an `agents.py`, and a module that it imports."""
    package = tmp_path / "packages" / "shop"
    package.mkdir(parents=True)
    for name, text in {
        "__init__": "",
        "agents": CLERK,
        "prices": "PRICE = 1",
        "models": "LOADED = []",
    }.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(package.parent)
    changed = modify_settings(INSTALLED_APPS={"append": "shop"})
    changed.enable()
    yield package
    changed.disable()
    registry.first_imports.pop("shop.agents", None)
    current_app.tasks.pop("shop.agents.price", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def call_price() -> object:
    """Run the function of the job tool as a worker does."""
    (tool,) = registry.get_app("shop").root_agent.tools  # type: ignore[attr-defined]
    assert isinstance(tool, JobTool)
    return tool.run_here({"item": "lamp"})


def prepare(app_name: str, *, is_open: bool = True) -> asyncio.Event:
    """Make the speaker's newest version answer at once or wait; return the event of its beginning."""
    module = sys.modules[f"{app_name}.agent"]
    if is_open:
        module.gate.set()
    begun: asyncio.Event = module.begun
    return begun


async def texts(session_id: UUID) -> list[str]:
    rows = Event.objects.filter(session_id=session_id, author="speaker").order_by("seq")
    return [event.text or "" async for event in rows]


def test_nothing_happens_while_no_file_changes(write_folder: WriteFolder) -> None:
    write_folder("weather", agent=SPEAKER, words="WORD = 1")
    app = registry.get_app("weather")
    assert reload_if_changed() == Reload()
    assert registry.get_app("weather") is app


def test_a_changed_module_of_a_package_is_served_and_other_agents_are_left_alone(
    shop: Path, write_folder: WriteFolder
) -> None:
    write_folder("weather", agent=SPEAKER, words="WORD = 1")
    weather, models = registry.get_app("weather"), sys.modules["shop.models"]
    assert call_price() == 1
    (shop / "prices.py").write_text("PRICE = 2")  # as long as before, and within the same second
    assert reload_if_changed() == Reload(reloaded=["shop.agents"])
    assert call_price() == 2
    assert current_app.tasks["shop.agents.price"]
    assert registry.get_app("weather") is weather
    assert sys.modules["shop.models"] is models


def test_new_removed_and_shared_code_of_folders_is_followed(
    agent_dir: Path, write_folder: WriteFolder
) -> None:
    source = (
        "from google.adk.agents import Agent\nimport lore\nroot_agent = Agent(name=lore.NAME, model='demo')"
    )
    (agent_dir / "lore.py").write_text("NAME = 'first'")
    one = write_folder("one", agent=source)
    assert list(registry.apps()) == ["help_desk", "one"]
    module = sys.modules["one.agent"]
    write_folder("two", agent=source)
    assert reload_if_changed() == Reload(reloaded=["two"])
    assert sys.modules["one.agent"] is module
    (agent_dir / "lore.py").write_text("NAME = 'other'")
    assert reload_if_changed() == Reload(reloaded=["one", "two"])
    assert registry.get_app("one").root_agent.name == "other"
    (one / "agent.py").unlink()
    assert reload_if_changed() == Reload(reloaded=["two"])
    assert list(registry.apps()) == ["help_desk", "two"]


def test_a_broken_version_changes_nothing_until_it_is_mended(shop: Path) -> None:
    clerk, module = registry.get_app("shop"), sys.modules["shop.agents"]
    task = current_app.tasks["shop.agents.price"]
    (shop / "prices.py").write_text("\nPRICE = (")
    problem = (
        "shop.agents cannot be loaded, its earlier version stays served. "
        f"SyntaxError: '(' was never closed (line 2 of {shop}/prices.py)."
    )
    assert reload_if_changed() == Reload(problems=[problem])
    assert reload_if_changed() == Reload()
    assert registry.get_app("shop") is clerk
    assert sys.modules["shop.agents"] is module and sys.modules["shop"].agents is module
    assert current_app.tasks["shop.agents.price"] is task
    (shop / "agents.py").write_text(CLERK + "\nraise SystemExit(3)")
    (shop / "prices.py").write_text("PRICE = 3")
    (exited,) = reload_if_changed().problems
    assert "SystemExit: 3 (line 13 of" in exited
    assert call_price() == 1
    (shop / "agents.py").write_text(CLERK)
    assert reload_if_changed() == Reload(reloaded=["shop.agents"])
    assert call_price() == 3
    assert "shop.agents" not in registry.registry().problems


def test_libraries_below_an_agent_directory_are_not_imported_anew(
    agent_dir: Path, write_folder: WriteFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = agent_dir / "weather" / ".venv" / "lib"
    library.mkdir(parents=True)
    (library / "library_of_weather.py").touch()
    monkeypatch.syspath_prepend(library)
    write_folder("weather", agent=f"import library_of_weather\n{SPEAKER}", words="WORD = 1")
    registry.apps()
    agent, imported = sys.modules["weather.agent"], sys.modules["library_of_weather"]
    write_folder("weather", words="WORD = 2")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert sys.modules["weather.agent"] is not agent
    assert sys.modules["library_of_weather"] is imported
    (agent_dir / "shared.py").touch()
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert sys.modules["library_of_weather"] is imported


def test_an_earlier_version_keeps_the_modules_that_it_imports_in_functions(
    agent_dir: Path, write_folder: WriteFolder
) -> None:
    source = "import lore\nfrom google.adk.agents import Agent\nroot_agent = Agent(name='one', model='demo')"
    (agent_dir / "lore.py").write_text("VALUE = 1")
    write_folder("one", agent=source)
    registry.apps()
    lore = sys.modules["lore"]
    write_folder("one", agent="import no_such_package")
    (agent_dir / "lore.py").write_text("VALUE = 2")
    (problem,) = reload_if_changed().problems
    assert "its earlier version stays served" in problem
    assert sys.modules["lore"] is lore


def test_a_reload_that_is_interrupted_leaves_all_modules_imported(shop: Path) -> None:
    registry.apps()
    agents, task = sys.modules["shop.agents"], current_app.tasks["shop.agents.price"]
    (shop / "prices.py").write_text("PRICE = 2")
    compiled = Path(sys.modules["shop.prices"].__cached__)
    compiled.unlink(missing_ok=True)
    compiled.mkdir(parents=True)
    with pytest.raises(OSError):
        reload_if_changed()
    assert sys.modules["shop.agents"] is agents and current_app.tasks["shop.agents.price"] is task
    compiled.rmdir()
    assert reload_if_changed() == Reload(reloaded=["shop.agents"])
    assert call_price() == 2


def test_problems_of_other_agents_stay_as_they_are_and_are_not_told_again(
    write_folder: WriteFolder,
) -> None:
    write_folder("absent", agent="import no_such_package")
    write_folder("other", agent=SPEAKER, words="WORD = 1")
    write_folder("weather", agent=SPEAKER, words="WORD = 1")
    first = dict(registry.registry().problems)
    assert list(first) == ["absent"]
    write_folder("weather", words="(")
    (problem,) = reload_if_changed().problems
    write_folder("other", words="WORD = 2")
    assert reload_if_changed() == Reload(reloaded=["other"])
    assert registry.registry().problems == {**first, "weather": problem}


def test_the_checks_of_a_start_run_after_each_reload_and_tell_a_flaw_once(
    write_folder: WriteFolder, monkeypatch: pytest.MonkeyPatch, person: User
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    client = Client()
    client.force_login(person)
    source = (
        "from google.adk.agents import Agent\nfrom google.adk.tools import exit_loop\n"
        "root_agent = Agent(name='one', model={model!r}, tools=[{tools}])"
    )
    write_folder("one", agent=source.format(model="demo", tools="exit_loop"))
    registry.apps()
    write_folder("one", agent=source.format(model="openai/gpt-5", tools="exit_loop, exit_loop"))
    reload = reload_if_changed()
    assert reload.reloaded == ["one"]
    repeated, key = reload.problems
    assert repeated == (
        "one: Agent 'one' has several tools 'exit_loop'. Give each its own name: the model calls tools by name."
    )
    assert key.startswith("one: ") and "OPENAI_API_KEY" in key
    assert escape(repeated) in client.get("/").content.decode()
    write_folder("one", agent=source.format(model="openai/gpt-5", tools="exit_loop, exit_loop") + "\n")
    assert reload_if_changed() == Reload(reloaded=["one"])
    write_folder("one", agent=source.format(model="no-such-model", tools=""))
    (unknown,) = reload_if_changed().problems
    assert "no-such-model" in unknown
    write_folder("one", agent=source.format(model="demo", tools=""))
    assert reload_if_changed() == Reload(reloaded=["one"])


def test_a_directory_without_an_agent_folder_is_told(agent_dir: Path, write_folder: WriteFolder) -> None:
    (problem,) = registry.registry().problems.values()
    assert problem.startswith(f"'{agent_dir}' in ADK['agent_dirs'] has no agent folder: ")
    write_folder("weather", agent=SPEAKER, words="WORD = 1")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert registry.registry().problems == {}


def test_an_error_that_an_agents_py_raises_from_another_is_shown_itself(shop: Path) -> None:
    registry.apps()
    (shop / "agents.py").write_text(
        "try:\n    import no_such_package\nexcept ImportError as error:\n"
        "    raise ValueError('Install the package.') from error"
    )
    (problem,) = reload_if_changed().problems
    assert problem.endswith(f"ValueError: Install the package (line 4 of {shop}/agents.py).")


def test_a_changed_module_that_other_code_imported_first_is_named(shop: Path) -> None:
    registry.apps()
    models = sys.modules["shop.models"]
    (shop / "models.py").write_text("LOADED = [1]")
    assert reload_if_changed() == Reload(reloaded=["shop.agents"], restart_for=[shop / "models.py"])
    assert sys.modules["shop.models"] is models


def test_a_changed_env_file_is_followed(
    agent_dir: Path, write_folder: WriteFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITY", "Oslo")
    monkeypatch.delenv("REGION", raising=False)
    source = (
        "import os\nfrom google.adk.agents import Agent\n"
        "root_agent = Agent(name=os.environ['CITY'] + os.environ.get('REGION', ''), model='demo')"
    )
    folder = write_folder("weather", agent=source)

    def name() -> str:
        return registry.get_app("weather").root_agent.name

    (folder / ".env").write_text("REGION=North\nCITY=Paris")
    assert name() == "OsloNorth"
    (folder / ".env").write_text("REGION=South\nCITY=Paris")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert name() == "OsloSouth"
    (folder / ".env").unlink()
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert name() == "Oslo"
    (agent_dir / ".env").write_text("REGION=East")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert name() == "OsloEast"


def test_agents_that_have_not_changed_are_not_made_anew(write_folder: WriteFolder) -> None:
    counted = """
        from google.adk.agents import Agent
        from google.adk.apps import App
        made = []
        class Counted(App):
            def model_post_init(self, context):
                super().model_post_init(context)
                made.append(self)
        app = Counted(name="other", root_agent=Agent(name="other", model="demo"))
        """
    write_folder("other", agent=counted)
    write_folder("weather", agent=SPEAKER, words="WORD = 1")
    registry.apps()
    made = len(sys.modules["other.agent"].made)
    write_folder("weather", words="WORD = 2")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    assert len(sys.modules["other.agent"].made) == made


@pytest.mark.usefixtures("loop_end")
async def test_an_invocation_ends_on_the_version_that_it_began_with(
    person: User, write_folder: WriteFolder
) -> None:
    write_folder("weather", agent=SPEAKER, words="WORD = 'old'")
    registry.apps()
    begun, gate = prepare("weather", is_open=False), sys.modules["weather.agent"].gate
    running = await use_cases.create_session(person, "weather")
    await use_cases.send_message(actors.person(person), running.pk, "m1", "hi")
    await begun.wait()

    write_folder("weather", words="WORD = 'new'")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    prepare("weather")
    later = await use_cases.create_session(person, "weather")
    await use_cases.send_message(actors.person(person), later.pk, "m1", "hi")
    await use_cases.send_message(actors.person(person), running.pk, "m2", "again")
    gate.set()
    await worker().wait_until_idle()
    assert await texts(running.pk) == ["old", "new"]
    assert await texts(later.pk) == ["new"]


def test_the_pages_show_the_problem_in_development_and_to_staff(
    person: User, write_folder: WriteFolder, agent_dir: Path, configure: Callable[..., None]
) -> None:
    folder = write_folder("weather", agent=SPEAKER, words="WORD = 1")
    registry.apps()
    client = Client()
    client.force_login(person)
    shown = f"ModuleNotFoundError: No module named &#x27;no_such_package&#x27; (line 1 of {folder}/words.py)"
    assert shown not in client.get("/").content.decode()
    write_folder("weather", words="import no_such_package")
    reload_if_changed()
    page = client.get("/").content.decode()
    assert shown in page and "weather cannot be loaded, its earlier version stays served." in page
    configure(agent_dirs=[str(agent_dir)], reload_agents=False)
    assert shown not in client.get("/").content.decode()
    person.is_staff = True
    person.save()
    assert shown in client.get("/").content.decode()
