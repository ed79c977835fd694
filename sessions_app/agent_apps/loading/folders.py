"""Agent folders: apps in the layout of google-adk, in the directories of `ADK["agent_dirs"]`.

A folder defines `app` or `root_agent` in its `agent.py` or `__init__.py`, or an agent in `root_agent.yaml`. Its
modules may import `google.adk`, which is then an alias of `runtime`.
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from django.apps import apps as django_apps
from django.conf import settings

import runtime
from runtime import google_adk
from runtime.agents.base_agent import BaseAgent
from runtime.agents.config_agent_utils import from_config
from runtime.apps.app import App
from sessions_app.agent_apps.loading.env_files import set_variables_of
from sessions_app.agent_apps.loading.faces import check_declarations
from sessions_app.agent_apps.loading.load_errors import line_of, reason_of
from sessions_app.errors import AgentFolderError

ENTRY = "agent.py"
YAML_ENTRY = "root_agent.yaml"
NAMES = {"agent", "app", "root_agent"}
"""Names in an `__init__.py` by which its folder counts as an agent folder."""


def agent_folders(directory: Path) -> Iterator[Path]:
    """Yield the agent folders of a directory, sorted by name. Other folders, such as libraries, are skipped.

    Raises:
        AgentFolderError: the directory does not exist, is itself an agent folder, or contains code of the site.
    """
    if not directory.is_dir():
        raise AgentFolderError(f"'{directory}' in ADK['agent_dirs'] is no directory.")
    if is_agent_folder(directory):
        raise AgentFolderError(
            f"'{directory}' in ADK['agent_dirs'] is itself an agent folder: name the directory above it."
        )
    if own := site_code_in(directory):
        raise AgentFolderError(
            f"'{directory}' in ADK['agent_dirs'] contains code of the site ('{own}'): "
            "move the agent folders into a directory of their own, and name that."
        )
    for folder in sorted(directory.resolve().iterdir()):
        if folder.is_dir() and not folder.name.startswith((".", "__")) and is_agent_folder(folder):
            yield folder


def is_agent_folder(folder: Path) -> bool:
    """True if the folder has an entry file, or an `__init__.py` that defines an agent or cannot be parsed."""
    if (folder / ENTRY).is_file() or (folder / YAML_ENTRY).is_file():
        return True
    init = folder / "__init__.py"
    if not init.is_file():
        return False
    # Parsed, not imported: a folder that is no agent must not run. One that cannot be parsed counts, so its error
    # is reported when it is loaded.
    try:
        nodes = ast.walk(ast.parse(init.read_bytes()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_name_in(node) in NAMES for node in nodes)


def site_code_in(directory: Path) -> Path | None:
    """Return a directory with code of the site below an agent directory; None if there is none."""
    # A reload imports all modules below an agent directory again: with code of the site there would be two sites.
    code = [*runtime.__path__, *(config.path for config in django_apps.get_app_configs())]
    if base := getattr(settings, "BASE_DIR", None):
        code.insert(0, base)
    for place in map(_resolved, map(str, code)):
        if place.is_relative_to(directory.resolve()):
            return place
    return None


@lru_cache  # Each check for changes calls it, several times a second.
def _resolved(place: str) -> Path:
    return Path(place).resolve()


def load_folder(folder: Path, *, replace_google_adk: bool = False) -> App:
    """Import an agent folder and return its app, named after the folder.

    Before the import the variables of the folder's `.env` file are set; see `set_variables_of`.

    Args:
        replace_google_adk: True to let `google.adk` name `runtime` even if google-adk is installed.

    Raises:
        AgentFolderError: the folder cannot be served. The message has the reason, with file and line.
    """
    try:
        if google_adk.is_google_adk_installed() and not replace_google_adk:
            raise AgentFolderError(
                "google-adk is installed: uninstall it, or let google.adk be this runtime by "
                "ADK['replace_google_adk'] = True"
            )
        google_adk.install(replace=replace_google_adk)
        _check_name(folder)
        set_variables_of(folder)
        return _app_of(folder)
    except (Exception, SystemExit) as error:  # whatever a folder does, the other apps are served
        line = line_of(error, folder.parent)
        place = f" ({line})" if line else ""
        raise AgentFolderError(
            f"The agent folder '{folder}' is not served: {reason_of(error).rstrip('.')}{place}."
        ) from error


def _check_name(folder: Path) -> None:
    """Make the folder's name importable.

    Raises:
        AgentFolderError: the name is no Python identifier, or another module has it.
    """
    if not folder.name.isidentifier():
        raise AgentFolderError(
            f"its name {folder.name!r} cannot be imported: use letters, digits and underscores"
        )
    directory = str(folder.parent)
    if directory not in sys.path:  # At the end: an agent folder must not shadow a library.
        sys.path.append(directory)
    importlib.invalidate_caches()
    spec = find_spec(folder.name)
    origin = ""
    places: list[str] = []
    if spec is not None:
        origin = spec.origin or ""
        places = [origin, *(spec.submodule_search_locations or [])]
    if not any(Path(place).is_relative_to(folder) for place in places):
        found = f" ({origin})" if origin else ""
        raise AgentFolderError(f"another module is called {folder.name!r}{found}: rename the folder")


def _app_of(folder: Path) -> App:
    """Return the app of the package, else of its module `agent`, else of its YAML file."""
    package = importlib.import_module(folder.name)
    app = _defined_in(package, folder.name)
    if app is None:
        module = getattr(package, "agent", None)
        if not isinstance(module, ModuleType) and (folder / ENTRY).is_file():
            module = importlib.import_module(f"{folder.name}.agent")
        app = _defined_in(module, folder.name)
    if app is None and (folder / YAML_ENTRY).is_file():
        app = App(name=folder.name, root_agent=from_config(folder / YAML_ENTRY))
    if app is None:
        raise AgentFolderError(
            f"neither {folder.name} nor {folder.name}.agent defines a root_agent or an app"
        )
    return app


def _defined_in(module: object, name: str) -> App | None:
    """Return the app of a module under the name of its folder, whatever its own name; None if it defines none."""
    app = getattr(module, "app", None)
    root_agent = getattr(module, "root_agent", None)
    if isinstance(app, App):
        app = type(app).model_validate({**dict(app), "name": name})
    elif isinstance(root_agent, BaseAgent):
        app = App(name=name, root_agent=root_agent)
    else:
        app = None
    check_declarations(module, app.root_agent if app else None)
    return app


def _name_in(node: ast.AST) -> str | None:
    if isinstance(node, ast.alias):
        return node.asname or node.name
    if isinstance(node, ast.Name):
        return node.id
    return None
