"""Registry of the site's apps.

Apps come from two places: `agents.py` modules of installed Django apps, and agent folders. They fail differently. An
`agents.py` is code of the project, so its error stops the process, as Django does with a broken `models.py`. A folder
may be somebody else's work: if it cannot be loaded, it becomes a sentence in `problems`, and the other apps are served.

Agents are loaded by the first use. A registry is never changed: a reload builds another and replaces it, so a reader
sees the apps of one moment.
"""

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TypeVar

from django.apps import apps as django_apps

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import walk
from runtime.apps.app import App
from runtime.errors import ConfigurationError
from runtime.models.base_llm import BaseLlm
from sessions_app.agent_apps.loading.faces import Face, check_declarations, faces_of, starters_of
from sessions_app.agent_apps.loading.folders import agent_folders, load_folder
from sessions_app.agent_apps.loading.sources import agent_dirs, source_files
from sessions_app.agent_apps.loading.versions import label_of, version_of
from sessions_app.conf import conf
from sessions_app.errors import AgentFolderError, NotFoundError

logger = logging.getLogger(__name__)
T = TypeVar("T")
NO_FOLDER = (
    "'{}' in ADK['agent_dirs'] has no agent folder: name the directory above the folders that have an agent.py. "
    "`manage.py adk_import FOLDER` tells what a folder lacks."
)


@dataclass(frozen=True, eq=False)
class Registry:
    """The apps served by this process. Immutable.

    Attributes:
        modules: apps by the name of their `agents.py` module or agent folder, in the order of `discover`. A folder
            whose name is taken goes by its path.
        problems: a sentence for each module that is not served, or served in an old version, by the same names.
        files: source files with their modification times before the import; empty unless `ADK["reload_agents"]` is
            set.
    """

    modules: Mapping[str, App]
    problems: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, int] = field(default_factory=dict)

    @cached_property
    def faces(self) -> Mapping[str, Mapping[str, Face]]:
        """Declared faces of agents, by names of the app and the agent."""
        # Kept: each event that is rendered asks for the face of its author.
        return {app.name: _first(faces_of, name) or {} for name, app in self.modules.items()}

    def module_of(self, app_name: str) -> str:
        """Return the name of the module with the app; empty for an unknown app."""
        return next((name for name, app in self.modules.items() if app.name == app_name), "")


_registry: Registry | None = None
# Reentrant: an `agents.py` may ask for the registry while it is imported.
_lock = threading.RLock()
"""Held while agents are loaded."""
# A reload removes these modules. Modules that other code imported first must stay: that code keeps using them.
first_imports: dict[str, set[str]] = {}
"""For each `agents.py` module: its name, and the modules of its package that were first imported by it."""
_versions: dict[str, tuple[App, str]] = {}
"""Versions of apps by name, each with the app that it describes."""


def discover(kept: Mapping[str, App] = MappingProxyType({})) -> Iterator[tuple[str, App | Exception]]:
    """Yield the name of each `agents.py` module and agent folder with its app, or with the error of loading it.

    The modules come in the order of INSTALLED_APPS, then the folders in the order of `ADK["agent_dirs"]`. The error of
    a folder is an AgentFolderError.

    Args:
        kept: loaded apps by name, to yield unchanged. All other apps are loaded.
    """
    taken = set()
    for config in django_apps.get_app_configs():
        module_name = f"{config.name}.agents"
        if find_spec(module_name) is not None:
            app = kept.get(module_name) or _load(module_name, config.label)
            taken.add(app.name if isinstance(app, App) else config.label)
            yield module_name, app
    yield from _folder_apps(taken, kept)


def registry() -> Registry:
    """Return the registry of this process. The first call loads all agents and logs folders that are not served.

    Raises:
        ConfigurationError: an `agents.py` defines no app, or two apps have the same name.
        Exception: an error of importing an `agents.py`, unchanged.
    """
    global _registry
    with _lock:
        if _registry is None:
            _registry = _load_all()
        return _registry


def replace_registry(newer: Registry) -> None:
    global _registry
    with _lock:
        _registry = newer


def forget_registry() -> None:
    """Drop the registry; its next use loads all agents again. Call it when a test changes the settings."""
    global _registry
    with _lock:
        _registry = None


def apps() -> dict[str, App]:
    """Return the apps by name, in the order of `discover`. Raises the same as `registry`."""
    return {app.name: app for app in registry().modules.values()}


def get_app(name: str, among: Mapping[str, App] | None = None) -> App:
    """Return an app by name.

    Args:
        among: apps to choose from, by name; None for all apps of the site.

    Raises:
        NotFoundError: there is no such app.
    """
    known = apps() if among is None else among
    app = known.get(name)
    if app is None:
        names = ", ".join(known) or "none; see docs/authoring.md"
        raise NotFoundError(f"There is no app {name!r}. The apps of this site: {names}.")
    return app


def first_model(app: App) -> BaseLlm | None:
    """Return the model of the app's first agent with a model; None without one."""
    for agent in walk(app.root_agent):
        if isinstance(agent, LlmAgent):
            return agent.canonical_model
    return None


def starters(app_name: str) -> tuple[str, ...]:
    """Return the messages offered by an empty chat with the app."""
    return _first(starters_of, registry().module_of(app_name)) or ()


def faces(app_name: str) -> Mapping[str, Face]:
    """Return the declared faces of the app's agents, by name of the agent."""
    return registry().faces.get(app_name, {})


def versions() -> dict[str, str]:
    """Return the version of each app by the app's name; see `version_of`."""
    # Every claim asks: an app is described once after it is loaded.
    for name, app in apps().items():
        if name not in _versions or _versions[name][0] is not app:
            label = _first(label_of, registry().module_of(name))
            try:
                _versions[name] = (app, version_of(app, label or ""))
            except Exception:  # A tool may raise anything; the check of the agents reports it.
                logger.exception("The version of the app %r is not known", name)
                _versions[name] = (app, "")
    return {name: _versions[name][1] for name in apps()}


def _first(declared_in: Callable[[object], T], module_name: str) -> T | None:
    """Return what a module declares, or its module `agent`: the package of a folder may leave it there."""
    module = sys.modules.get(module_name)
    return declared_in(module) or declared_in(getattr(module, "agent", None))


def _load_all() -> Registry:
    # Before the import: a file that changes during the import then counts as changed afterwards.
    files = source_files() if conf().reload_agents else {}
    modules: dict[str, App] = {}
    problems: dict[str, str] = {}
    for module_name, app in discover():
        if isinstance(app, AgentFolderError):
            logger.error("%s", app)
            problems[module_name] = str(app)
            continue
        if isinstance(app, Exception):
            raise app
        if app.name in {known.name for known in modules.values()}:
            raise ConfigurationError(
                f"Two agents.py define an app {app.name!r}; {module_name} is the second. Rename one."
            )
        modules[module_name] = app
    return Registry(modules, problems, files)


def _folder_apps(taken: set[str], kept: Mapping[str, App]) -> Iterator[tuple[str, App | AgentFolderError]]:
    """Yield the agent folders. A folder whose name is in `taken` comes under its path, with an error."""
    for directory in agent_dirs():
        try:
            folders = list(agent_folders(directory))
        except (AgentFolderError, OSError) as error:
            yield str(directory), AgentFolderError(str(error))
            continue
        if not folders:
            yield str(directory), AgentFolderError(NO_FOLDER.format(directory))
        for folder in folders:
            if folder.name in taken:
                yield str(folder), _name_error(folder)
            else:
                taken.add(folder.name)
                yield folder.name, kept.get(folder.name) or _folder_app(folder)


def _name_error(folder: Path) -> AgentFolderError:
    return AgentFolderError(
        f"The agent folder '{folder}' is not served: another agent is called {folder.name!r}. Rename the folder."
    )


def _folder_app(folder: Path) -> App | AgentFolderError:
    try:
        return load_folder(folder, replace_google_adk=conf().replace_google_adk)
    except AgentFolderError as error:
        return error


def _load(module_name: str, label: str) -> App | Exception:
    before = set(sys.modules)
    try:
        module = importlib.import_module(module_name)
        app = _app_of(module, label)
        check_declarations(module, app.root_agent)
        return app
    except Exception as error:  # noqa: BLE001 - the registry raises the error, the system check reports it
        return error
    except SystemExit as error:  # not an Exception: a script with `sys.exit` would end the web process
        message = f"{module_name} ends the process: SystemExit: {error}"
        return ConfigurationError(message).with_traceback(error.__traceback__)
    finally:
        package = module_name.rpartition(".")[0]
        own = {name for name in set(sys.modules) - before if name.startswith(f"{package}.")}
        first_imports.setdefault(module_name, {module_name}).update(own)


def _app_of(module: ModuleType, label: str) -> App:
    """Return the module's `app`, or an app for its `root_agent`, named after the Django app."""
    names = vars(module)
    app = names.get("app")
    root_agent = names.get("root_agent")
    if isinstance(app, App):
        return app
    if isinstance(root_agent, BaseAgent):
        return App(name=label, root_agent=root_agent)
    raise ConfigurationError(
        f"{module.__name__} defines no agent: write app = App(name=..., root_agent=...) or root_agent = Agent(...)."
    )
