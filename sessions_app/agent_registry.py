"""Registry of the site's apps: those that installed Django apps define in their `agents.py`, and agent folders."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from django.apps import apps as django_apps
from pydantic import ValidationError

from runtime.agents.base_agent import BaseAgent
from runtime.apps.app import App
from runtime.errors import ConfigurationError
from sessions_app.agent_folders import agent_folders, load_folder
from sessions_app.conf import conf
from sessions_app.errors import AgentFolderError, NotFoundError

logger = logging.getLogger(__name__)


def discover() -> Iterator[tuple[str, App | Exception]]:
    """Yield the name of every `agents.py` module and agent folder with its app, or with the error of loading it.

    The order is that of INSTALLED_APPS, then that of `ADK["agent_dirs"]`. The error of a folder is an AgentFolderError.
    """
    taken = set()
    for config in django_apps.get_app_configs():
        module_name = f"{config.name}.agents"
        if find_spec(module_name) is not None:
            app = _load(module_name, config.label)
            taken.add(app.name if isinstance(app, App) else config.label)
            yield module_name, app
    yield from _folder_apps(taken)


@lru_cache(maxsize=1)
def apps() -> dict[str, App]:
    """Return the apps by name, in the order of `discover`. An agent folder that cannot be served is logged.

    Raises:
        ConfigurationError: an `agents.py` defines no app, or two define the same name.
        Exception: any error that importing an `agents.py` raised, unchanged.
    """
    by_name: dict[str, App] = {}
    for module_name, app in discover():
        if isinstance(app, AgentFolderError):
            logger.error("%s", app)
            continue
        if isinstance(app, Exception):
            raise app
        if app.name in by_name:
            raise ConfigurationError(
                f"Two agents.py define an app {app.name!r}; {module_name} is the second. Rename one."
            )
        by_name[app.name] = app
    return by_name


def get_app(name: str) -> App:
    """Return an app by name.

    Raises:
        NotFoundError: the site has no such app.
    """
    app = apps().get(name)
    if app is None:
        names = ", ".join(apps()) or "none; see docs/authoring.md"
        raise NotFoundError(f"There is no app {name!r}. The apps of this site: {names}.")
    return app


def _folder_apps(taken: set[str]) -> Iterator[tuple[str, App | AgentFolderError]]:
    """Yield the agent folders, except that of a name in `taken`, which is an error."""
    try:
        settings = conf()
    except ValidationError:  # `check_settings` reports it
        return
    for directory in settings.agent_dirs:
        try:
            folders = list(agent_folders(directory))
        except (AgentFolderError, OSError) as error:
            yield str(directory), AgentFolderError(str(error))
            continue
        for folder in folders:
            yield folder.name, _folder_app(folder, taken, settings.replace_google_adk)
            taken.add(folder.name)


def _folder_app(folder: Path, taken: set[str], replace_google_adk: bool) -> App | AgentFolderError:
    if folder.name in taken:
        return AgentFolderError(
            f"The agent folder '{folder}' is not served: the site has an app {folder.name!r} already. Rename it."
        )
    try:
        return load_folder(folder, replace_google_adk=replace_google_adk)
    except AgentFolderError as error:
        return error


def _load(module_name: str, label: str) -> App | Exception:
    try:
        return _app_of(importlib.import_module(module_name), label)
    except Exception as error:  # noqa: BLE001 - apps() raises the error, the system check reports it
        return error


def _app_of(module: ModuleType, label: str) -> App:
    """Return the module's `app`, or an app for its `root_agent`, named after the Django app."""
    names = vars(module)
    app, root_agent = names.get("app"), names.get("root_agent")
    if isinstance(app, App):
        return app
    if isinstance(root_agent, BaseAgent):
        return App(name=label, root_agent=root_agent)
    raise ConfigurationError(
        f"{module.__name__} defines no agent: write app = App(name=..., root_agent=...) or root_agent = Agent(...)."
    )
