"""Reload of changed agents in a running process, for development.

1. Compare the source files with those of the registry, and find the agents that the changes affect.
2. Remove the modules of these agents from `sys.modules`.
3. Import the agents again, and build a new registry. An agent that fails stays in the new registry with its old app.
4. Put back the modules that the old apps of failed agents need. They import some modules only when a tool runs.
5. Replace the registry in one step. Invocations and jobs that are running keep the app or function they began with.
6. Check the apps, as `manage.py check` does.

Modules are imported again rather than reloaded in place: `importlib.reload` would change modules under running
invocations.
"""

import importlib
import linecache
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from runtime.apps.app import App
from sessions_app.agent_apps.checks.agents import flaws_of
from sessions_app.agent_apps.loading.imported_modules import (
    RemovedModules,
    imported_files,
    modules_of,
    remove_modules,
)
from sessions_app.agent_apps.loading.load_errors import line_of, reason_of
from sessions_app.agent_apps.loading.sources import (
    folder_directories,
    package_directories,
    source_files,
    watched_dirs,
)
from sessions_app.agent_apps.registry import Registry, discover, first_imports, registry, replace_registry
from sessions_app.errors import AgentFolderError

_lock = threading.Lock()  # Two threads must not remove and import modules at the same time.


@dataclass(frozen=True)
class Reload:
    """Outcome of a comparison of the files with the registry.

    Attributes:
        reloaded: names of the agents that were imported again.
        problems: a sentence for each new problem.
        restart_for: changed modules that other code imported before an agent did. They take effect after a restart.
    """

    reloaded: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    restart_for: list[Path] = field(default_factory=list)


@dataclass(frozen=True)
class _Change:
    """Changed files, and the directories of the affected agents.

    Attributes:
        files: all source files with their modification times.
        changed: files that are new, changed or gone.
        affected: directories of affected packages and folders, by the name of the agent in the registry.
        roots: directories below which all modules are imported again: the affected folders, or all watched directories.
    """

    files: dict[Path, int]
    changed: set[Path]
    affected: dict[str, Path]
    roots: list[Path]


def has_changes() -> bool:
    """True if a file of an agent has changed since the agents were imported."""
    return source_files() != registry().files


def reload_if_changed() -> Reload:
    """Import agents again if their files have changed. Agents that other files affect are found as well."""
    with _lock:
        present = registry()
        files = source_files()
        if files == present.files:
            return Reload()
        return _reload(present, _find_change(present, files))


def _find_change(present: Registry, files: dict[Path, int]) -> _Change:
    changed = {file for file, _ in set(files.items()) ^ set(present.files.items())}
    packages = package_directories()
    folders = folder_directories()
    affected = {}
    for name, directory in {**packages, **folders}.items():
        if _any_below(changed, [directory]):
            affected[name] = directory
    roots = [directory for name, directory in affected.items() if name in folders]
    if any(not _any_below({file}, affected.values()) for file in changed):
        # Code that agent folders share, or a folder that is gone.
        affected |= folders
        roots = watched_dirs()
    return _Change(files, changed, affected, roots)


def _reload(present: Registry, change: _Change) -> Reload:
    removed = _remove_modules(present, change)
    restart_for = sorted(imported_files(change.changed))
    failed = [*change.affected.values(), *change.roots]
    reloaded = []
    try:
        # Each of these caches may have the old version: compiled files, lines for tracebacks, directory listings.
        removed.delete_compiled_files()
        linecache.checkcache()
        importlib.invalidate_caches()
        newer, outcome = _newer_registry(present, change)
        failed = [directory for name, directory in change.affected.items() if name in newer.problems]
        reloaded = [change.affected[name] for name in outcome.reloaded]
    finally:
        removed.put_back(failed=failed, reloaded=reloaded)
    replace_registry(newer)
    known = set(flaws_of(present))
    flaws = [sentence for sentence in flaws_of(newer) if sentence not in known]
    return Reload(outcome.reloaded, [*outcome.problems, *flaws], restart_for)


def _remove_modules(present: Registry, change: _Change) -> RemovedModules:
    """Remove the modules of the affected agents. Libraries in the same directories stay: only watched files count."""
    names: set[str] = set()
    for name in change.affected:
        names |= first_imports.get(name, set())
    watched = {file for file in {*change.files, *present.files} if _any_below({file}, change.roots)}
    return remove_modules(names | modules_of(watched))


def _newer_registry(present: Registry, change: _Change) -> tuple[Registry, Reload]:
    """Return the registry with the new versions of the affected agents, and the outcome."""
    modules: dict[str, App] = {}
    problems: dict[str, str] = {}
    outcome = Reload()
    unaffected = {name: app for name, app in present.modules.items() if name not in change.affected}
    for name, app in discover(unaffected):
        old = present.modules.get(name)
        if isinstance(app, App) and app.name in {known.name for known in modules.values()}:
            app = ValueError(f"another agent is called {app.name!r}: rename one of them")
        if isinstance(app, App):
            modules[name] = app
            if name in change.affected:
                outcome.reloaded.append(name)
            continue
        problems[name] = _problem(name, app, is_served=old is not None)
        if old is not None:
            modules[name] = old
        # Report a problem once, not at every change of a file.
        if problems[name] != present.problems.get(name):
            outcome.problems.append(problems[name])
    for name in unaffected.keys() & modules.keys() & present.problems.keys():
        problems[name] = present.problems[name]
    return Registry(modules, problems, change.files), outcome


def _problem(name: str, error: Exception, *, is_served: bool) -> str:
    """Return the sentence for an agent that failed to load."""
    # The message of an AgentFolderError says that the folder is not served: wrong while an earlier version is.
    cause: BaseException = error
    if isinstance(error, AgentFolderError):
        if not is_served:
            return str(error)
        cause = error.__cause__ or error
    directory = {**package_directories(), **folder_directories()}.get(name)
    line = line_of(cause, directory) if directory else None
    place = f" ({line})" if line else ""
    state = "its earlier version stays served" if is_served else "it is not served"
    return f"{name} cannot be loaded, {state}. {reason_of(cause).rstrip('.')}{place}."


def _any_below(files: set[Path], directories: Iterable[Path]) -> bool:
    for directory in directories:
        if any(file.is_relative_to(directory) for file in files):
            return True
    return False
