"""Reload of changed agents in a running process, for development.

The modules of a changed agent are imported anew, and a new registry takes the place of the old one in one step. An
invocation or job keeps the app or function that it began with. An agent whose new version cannot be imported stays
served in its old version.
"""

from __future__ import annotations

import importlib
import linecache
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from celery import Task, current_app

from runtime.apps.app import App
from sessions_app.agent_registry import Registry, discover, first_imports, registry, replace_registry
from sessions_app.agent_sources import agent_dirs, folder_directories, package_directories, source_files
from sessions_app.load_errors import line_of, reason_of

Modules = dict[str, ModuleType]
Tasks = dict[str, "Task[Any, Any]"]

_lock = threading.Lock()


@dataclass(frozen=True)
class Reload:
    """Outcome of a look at the files: names of the agents that were reloaded, and a sentence for each new problem."""

    reloaded: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def has_changes() -> bool:
    """True when a file of an agent has changed since the agents were imported."""
    return source_files() != registry().files


def reload_if_changed() -> Reload:
    """Import the agents again whose files have changed since they were imported."""
    with _lock:
        present, files = registry(), source_files()
        if files == present.files:
            return Reload()
        changed = {file for file, _ in set(files.items()) ^ set(present.files.items())}
        return _reload(present, files, changed)


def _reload(present: Registry, files: dict[Path, int], changed: set[Path]) -> Reload:
    packages, folders = package_directories(), folder_directories()
    affected = {
        name: directory
        for name, directory in {**packages, **folders}.items()
        if any(file.is_relative_to(directory) for file in changed)
    }
    roots = [directory for name, directory in affected.items() if name in folders]
    if any(not any(file.is_relative_to(directory) for directory in affected.values()) for file in changed):
        # Code that agent folders share, or a folder that is gone.
        affected |= folders
        roots = [directory.resolve() for directory in agent_dirs()]
    old_modules, old_tasks = _forget_modules(affected.keys() & packages.keys(), roots)
    linecache.checkcache()
    importlib.invalidate_caches()
    newer, reload = _newer_registry(present, files, affected)
    failed = [directory for name, directory in affected.items() if name in newer.problems]
    _restore(old_modules, old_tasks, failed)
    replace_registry(newer)
    return reload


def _newer_registry(
    present: Registry, files: dict[Path, int], affected: dict[str, Path]
) -> tuple[Registry, Reload]:
    """Return the registry with the new versions of the affected agents, and the outcome."""
    modules: dict[str, App] = {}
    problems: dict[str, str] = {}
    outcome = Reload()
    for name, found in discover():
        old = present.modules.get(name)
        app = old if old is not None and name not in affected else found
        if isinstance(app, App) and app.name in {known.name for known in modules.values()}:
            app = ValueError(f"another agent is called {app.name!r}: rename one of them")
        if isinstance(app, App):
            modules[name] = app
            outcome.reloaded.extend([name] if name in affected else [])
            continue
        problems[name] = _problem(name, app, affected.get(name), is_served=old is not None)
        if old is not None:
            modules[name] = old
        if problems[name] != present.problems.get(name):
            outcome.problems.append(problems[name])
    replaced = [app for name, app in present.modules.items() if modules.get(name) is not app]
    return Registry(modules, problems, files, (*present.retired, *replaced)), outcome


def _problem(name: str, error: Exception, directory: Path | None, *, is_served: bool) -> str:
    cause = error.__cause__ or error
    line = line_of(cause, directory) if directory else None
    place = f" ({line})" if line else ""
    state = "its earlier version stays served" if is_served else "it is not served"
    return f"{name} cannot be loaded, {state}. {reason_of(cause).rstrip('.')}{place}."


def _forget_modules(packages: set[str], roots: list[Path]) -> tuple[Modules, Tasks]:
    """Remove the modules of packages, and those below the roots, from the import system, and their Celery tasks.

    Returns:
        The modules and the tasks, by name.
    """
    names = {module for package in packages for module in first_imports.get(package, ())}
    names |= {name for name, module in list(sys.modules.items()) if _is_below(module, roots)}
    modules = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    for module in modules.values():
        # Python takes a compiled file for current when time (in seconds) and size of the source are the same.
        if compiled := getattr(module, "__cached__", None):
            Path(compiled).unlink(missing_ok=True)
    registered = current_app.tasks
    tasks = {name: registered[name] for name in list(registered) if name.rpartition(".")[0] in modules}
    for name in tasks:
        registered.unregister(name)
    return modules, tasks


def _restore(modules: Modules, tasks: Tasks, directories: list[Path]) -> None:
    """Put back the modules and tasks of the agents in these directories: their new versions failed."""
    kept = {name for name, module in modules.items() if _is_below(module, directories)}
    for name in kept:
        sys.modules[name] = modules[name]
        package, _, attribute = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], attribute, modules[name])
    for name, task in tasks.items():
        if name.rpartition(".")[0] in kept:
            current_app.tasks[name] = task


def _is_below(module: ModuleType, directories: list[Path]) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(place and Path(place).is_relative_to(root) for place in places for root in directories)
