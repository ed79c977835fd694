"""Removal of agents' modules for a new import, and their return if the import fails.

A module's job tools are Celery tasks, registered by name. They are removed and put back together with the module:
otherwise the name of a task would mean the old function.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from celery import Task, current_app


@dataclass(frozen=True)
class RemovedModules:
    """Modules removed from the import system, and their Celery tasks, by name."""

    modules: dict[str, ModuleType]
    tasks: dict[str, Task[Any, Any]]

    def delete_compiled_files(self) -> None:
        # Python takes a compiled file for current if the source has the same size and the same time in seconds. Two
        # saves within a second may fulfil both.
        for module in self.modules.values():
            if compiled := getattr(module, "__cached__", None):
                Path(compiled).unlink(missing_ok=True)

    def put_back(self, *, failed: list[Path], reloaded: list[Path]) -> None:
        """Put back the modules and tasks that old versions of agents need.

        Args:
            failed: directories of agents whose old versions stay served.
            reloaded: directories of agents served in new versions; their modules stay removed.
        """
        for name, module in self.modules.items():
            # An old version may import a module only inside a function. If nothing has imported the new module, put the
            # old one back.
            is_unused = bool(failed) and name not in sys.modules and not _is_below(module, reloaded)
            if is_unused or _is_below(module, failed):
                self._put_back_module(name)

    def _put_back_module(self, name: str) -> None:
        sys.modules[name] = self.modules[name]
        # `from package import module` reads the attribute, which a failed import may have replaced.
        package, _, attribute = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], attribute, self.modules[name])
        for task_name, task in self.tasks.items():
            if task_name.rpartition(".")[0] == name:
                current_app.tasks[task_name] = task


def remove_modules(names: Iterable[str]) -> RemovedModules:
    """Remove modules from the import system, and their tasks from Celery. Unknown names are ignored."""
    modules = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    registered = current_app.tasks
    tasks = {name: registered[name] for name in list(registered) if name.rpartition(".")[0] in modules}
    for name in tasks:
        registered.unregister(name)
    return RemovedModules(modules, tasks)


def modules_of(files: set[Path]) -> set[str]:
    """Return the names of the modules imported from these files, and of namespace packages around the files."""
    directories = {file.parent for file in files}
    names = set()
    for name, module in list(sys.modules.items()):
        file = _file_of(module)
        if file and Path(file) in files:
            names.add(name)
        # A namespace package has directories only.
        if not file and any(Path(place) in directories for place in getattr(module, "__path__", ())):
            names.add(name)
    return names


def imported_files(files: set[Path]) -> set[Path]:
    """Return the files from which modules are imported."""
    imported = map(_file_of, list(sys.modules.values()))
    return files & {Path(file) for file in imported if file}


def _file_of(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None)


def _is_below(module: ModuleType, directories: list[Path]) -> bool:
    for place in (_file_of(module), *getattr(module, "__path__", ())):
        if place and any(Path(place).is_relative_to(directory) for directory in directories):
            return True
    return False
