"""Contract: a toolset of a replaced agent is closed as soon as no invocation uses it, and not before."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from django.contrib.auth.models import User

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.errors import ConfigurationError
from sessions_app import use_cases
from sessions_app.agent_apps import registry
from sessions_app.agent_apps.reload import reload_if_changed
from sessions_app.agent_apps.toolset_use import using
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.shutdown import shut_down
from tests.integration.conftest import WriteFolder

pytestmark = pytest.mark.usefixtures("loop_end")
SPEAKER = """
import asyncio
from google.adk.agents import Agent, BaseAgent
from google.adk.events import Event
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types
from .words import WORD

begun, gate, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

class Tools(BaseToolset):
    async def get_tools(self, readonly_context=None):
        return []

    async def close(self):
        assert not closed.is_set()
        closed.set()

class Speaker(BaseAgent):
    async def _run_async_impl(self, ctx):
        begun.set()
        await gate.wait()
        yield Event(author=self.name, content=types.ModelContent(WORD))

root_agent = Speaker(name="speaker", sub_agents=[Agent(name="helper", model="demo", tools=[Tools()])])
"""
SECONDS = 30.0


@pytest.fixture
def speaker(agent_dir: Path, write_folder: WriteFolder, configure: Callable[..., None]) -> ModuleType:
    """The module of the agent's first version."""
    configure(agent_dirs=[str(agent_dir)], reload_agents=True)
    write_folder("weather", agent=SPEAKER, words="WORD = 'old'")
    registry.apps()
    return sys.modules["weather.agent"]


async def begin(person: User) -> None:
    session = await use_cases.create_session(person, "weather")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "hi")
    async with asyncio.timeout(SECONDS):
        await sys.modules["weather.agent"].begun.wait()


def reload(write_folder: WriteFolder, word: str = "new") -> ModuleType:
    """Change the agent and reload it; return the new module."""
    write_folder("weather", words=f"WORD = {word!r}")
    assert reload_if_changed().reloaded == ["weather"]
    return sys.modules["weather.agent"]


async def test_the_toolsets_of_a_replaced_version_are_closed_after_its_last_invocation(
    person: User, write_folder: WriteFolder, speaker: ModuleType
) -> None:
    await begin(person)
    newer = reload(write_folder)
    newer.gate.set()
    await begin(person)
    newest = reload(write_folder, "newest")
    newest.gate.set()
    await begin(person)
    async with asyncio.timeout(SECONDS):
        await newer.closed.wait()
    assert not speaker.closed.is_set()
    speaker.gate.set()
    async with asyncio.timeout(SECONDS):
        await speaker.closed.wait()
    await worker().wait_until_idle()
    assert not newest.closed.is_set()
    await shut_down()
    assert newest.closed.is_set()


async def test_the_toolsets_of_a_version_that_was_replaced_while_idle_are_closed_after_the_next_invocation(
    person: User, write_folder: WriteFolder, speaker: ModuleType
) -> None:
    speaker.gate.set()
    await begin(person)
    await worker().wait_until_idle()
    newer = reload(write_folder)
    newer.gate.set()
    assert not speaker.closed.is_set()
    await begin(person)
    async with asyncio.timeout(SECONDS):
        await speaker.closed.wait()
    assert not newer.closed.is_set()


async def test_the_toolsets_of_all_versions_are_closed_when_the_process_ends(
    person: User, write_folder: WriteFolder, speaker: ModuleType
) -> None:
    speaker.gate.set()
    await begin(person)
    await worker().wait_until_idle()
    newer = reload(write_folder)
    await shut_down()
    assert speaker.closed.is_set() and newer.closed.is_set()


async def test_a_failed_clean_up_is_logged_and_replaces_no_result(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> dict[str, App]:
        raise ConfigurationError("The agents cannot be loaded.")

    app = App(name="speaker", root_agent=LlmAgent(name="speaker", model="demo"))
    monkeypatch.setattr(registry, "apps", fail)
    with using(app):
        pass
    with pytest.raises(LookupError, match="the error of the invocation"), using(app):
        raise LookupError("the error of the invocation")
    monkeypatch.undo()
    errors = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert [str(error) for error in errors] == ["The agents cannot be loaded."] * 2
