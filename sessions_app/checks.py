"""What is wrong with the agents of the site, as Django's system check tells it (design.md, "Agents of a site").

- E001  an agents.py gives no app
- E002  two apps have one name
- E003  two agents of a tree have one name
- E004  a tool cannot be declared to the model
- E005  two tools of an agent have one name
- E006  two plugins of an app have one name
- W001  a Gemini model has no API key
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from pydantic import ValidationError

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import tools_of, trees_of, walk
from runtime.apps.app import App
from runtime.errors import AdkError
from runtime.models import Gemini
from runtime.tools.base_tool import BaseTool
from sessions_app.agent_registry import discover

# google-genai asks Vertex AI without a key when the last one is set.
GEMINI_ACCESS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")


def check_agents(app_configs: object = None, **kwargs: Any) -> list[CheckMessage]:
    """A system check: the problems of every `agents.py`. It imports them, and runs nothing of them."""
    return list(problems_of(discover()))


def problems_of(found: Iterable[tuple[str, App | Exception]]) -> Iterator[CheckMessage]:
    """The problems of what `registry.discover` found."""
    places: dict[str, str] = {}
    for module_name, app in found:
        if isinstance(app, Exception):
            yield _error("E001", module_name, _reason(app), _place(app))
            continue
        if app.name in places:
            said = f"The app {app.name!r} is defined in {places[app.name]}, too."
            yield _error("E002", module_name, said, "Rename one of them.")
        places.setdefault(app.name, module_name)
        yield from _problems_of_app(app, module_name)


def _problems_of_app(app: App, place: str) -> Iterator[CheckMessage]:
    for name in _repeated(plugin.name for plugin in app.plugins):
        yield _error(
            "E006", place, f"App {app.name!r} has several plugins {name!r}.", "Give each its own name."
        )
    for root in trees_of(app.root_agent):
        for name in _repeated(agent.name for agent in walk(root)):
            said = f"Several agents in the tree of {root.name!r} are called {name!r}."
            yield _error("E003", place, said, "Give each its own name: transfers and events go by it.")
        for agent in walk(root):
            yield from _problems_of_tools(agent, place)
    without_key = [
        agent.name for root in trees_of(app.root_agent) for agent in walk(root) if _lacks_key(agent)
    ]
    if without_key:
        said = f"No API key is set for the Gemini model of {', '.join(without_key)}."
        hint = (
            "Set GOOGLE_API_KEY or GEMINI_API_KEY in the environment, or give the agent Gemini(api_key=...)."
        )
        yield Warning(said, hint=hint, obj=place, id="sessions_app.W001")


def _problems_of_tools(agent: BaseAgent, place: str) -> Iterator[CheckMessage]:
    tools = [tool for tool in tools_of(agent) if isinstance(tool, BaseTool)]
    for name in _repeated(tool.name for tool in tools):
        said = f"Agent {agent.name!r} has several tools {name!r}."
        yield _error("E005", place, said, "Give each its own name: the model calls it by that.")
    for tool in tools:
        try:
            tool._get_declaration()
        except Exception as error:  # noqa: BLE001 - whatever the tool's author raises is the news
            said = f"Tool {tool.name!r} of agent {agent.name!r} cannot be declared: {_reason(error)}"
            yield _error("E004", place, said, None)


def _lacks_key(agent: BaseAgent) -> bool:
    if not isinstance(agent, LlmAgent) or any(os.environ.get(name) for name in GEMINI_ACCESS):
        return False
    model = agent.canonical_model
    return isinstance(model, Gemini) and not model.api_key


def _repeated(names: Iterable[str]) -> list[str]:
    known = list(names)
    return sorted({name for name in known if known.count(name) > 1})


def _reason(error: Exception) -> str:
    """Our own errors are sentences, pydantic's a page; others need their name to be understood."""
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{'.'.join([error.title, *map(str, detail['loc'])])}: {detail['msg'].removeprefix('Value error, ')}"
            for detail in error.errors()
        )
    return str(error) if isinstance(error, AdkError) else f"{type(error).__name__}: {error}"


def _place(error: Exception) -> str | None:
    """The line of the `agents.py` that the error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).name == "agents.py"]
    return f"Look at line {own[-1].lineno} of {own[-1].filename}." if own else None


def _error(code: str, place: str, said: str, hint: str | None) -> Error:
    return Error(said, hint=hint, obj=place, id=f"sessions_app.{code}")
