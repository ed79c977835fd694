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

from sessions_app import agent_registry, use_cases
from sessions_app.agent_reload import Reload, reload_if_changed
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
    agent_registry.replace_registry(None)
    yield package
    changed.disable()
    agent_registry.replace_registry(None)
    agent_registry.first_imports.pop("shop.agents", None)
    current_app.tasks.pop("shop.agents.price", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def call_price() -> object:
    """Run the function of the job tool as a worker does."""
    (tool,) = agent_registry.get_app("shop").root_agent.tools  # type: ignore[attr-defined]
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
    app = agent_registry.get_app("weather")
    assert reload_if_changed() == Reload()
    assert agent_registry.get_app("weather") is app


def test_a_changed_module_of_a_package_is_served_and_other_agents_are_left_alone(
    shop: Path, write_folder: WriteFolder
) -> None:
    write_folder("weather", agent=SPEAKER, words="WORD = 1")
    weather, models = agent_registry.get_app("weather"), sys.modules["shop.models"]
    assert call_price() == 1
    (shop / "prices.py").write_text("PRICE = 2")  # as long as before, and within the same second
    assert reload_if_changed() == Reload(reloaded=["shop.agents"])
    assert call_price() == 2
    assert current_app.tasks["shop.agents.price"]
    assert agent_registry.get_app("weather") is weather
    assert sys.modules["shop.models"] is models


def test_new_removed_and_shared_code_of_folders_is_followed(
    agent_dir: Path, write_folder: WriteFolder
) -> None:
    source = (
        "from google.adk.agents import Agent\nimport lore\nroot_agent = Agent(name=lore.NAME, model='demo')"
    )
    (agent_dir / "lore.py").write_text("NAME = 'first'")
    one = write_folder("one", agent=source)
    assert list(agent_registry.apps()) == ["help_desk", "one"]
    module = sys.modules["one.agent"]
    write_folder("two", agent=source)
    assert reload_if_changed() == Reload(reloaded=["two"])
    assert sys.modules["one.agent"] is module
    (agent_dir / "lore.py").write_text("NAME = 'other'")
    assert reload_if_changed() == Reload(reloaded=["one", "two"])
    assert agent_registry.get_app("one").root_agent.name == "other"
    (one / "agent.py").unlink()
    assert reload_if_changed() == Reload(reloaded=["two"])
    assert list(agent_registry.apps()) == ["help_desk", "two"]


def test_a_broken_version_changes_nothing_until_it_is_mended(shop: Path) -> None:
    clerk, module = agent_registry.get_app("shop"), sys.modules["shop.agents"]
    task = current_app.tasks["shop.agents.price"]
    (shop / "prices.py").write_text("\nPRICE = (")
    problem = (
        "shop.agents cannot be loaded, its earlier version stays served. "
        f"SyntaxError: '(' was never closed (line 2 of {shop}/prices.py)."
    )
    assert reload_if_changed() == Reload(problems=[problem])
    assert reload_if_changed() == Reload()
    assert agent_registry.get_app("shop") is clerk
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
    assert agent_registry.registry().problems == {}


@pytest.mark.usefixtures("loop_end")
async def test_an_invocation_ends_on_the_version_that_it_began_with(
    person: User, write_folder: WriteFolder
) -> None:
    write_folder("weather", agent=SPEAKER, words="WORD = 'old'")
    agent_registry.apps()
    begun, gate = prepare("weather", is_open=False), sys.modules["weather.agent"].gate
    running = await use_cases.create_session(person, "weather")
    await use_cases.send_message(person, running.pk, "m1", "hi")
    await begun.wait()

    write_folder("weather", words="WORD = 'new'")
    assert reload_if_changed() == Reload(reloaded=["weather"])
    prepare("weather")
    later = await use_cases.create_session(person, "weather")
    await use_cases.send_message(person, later.pk, "m1", "hi")
    await use_cases.send_message(person, running.pk, "m2", "again")
    gate.set()
    await worker().wait_until_idle()
    assert await texts(running.pk) == ["old", "new"]
    assert await texts(later.pk) == ["new"]


def test_the_pages_show_the_problem_in_development_and_to_staff(
    person: User, write_folder: WriteFolder, agent_dir: Path, configure: Callable[..., None]
) -> None:
    folder = write_folder("weather", agent=SPEAKER, words="WORD = 1")
    agent_registry.apps()
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
