"""Source files of the site's agents: the packages with an `agents.py`, and the agent folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps as django_apps
from pydantic import ValidationError

from sessions_app.agent_folders import agent_folders
from sessions_app.conf import conf
from sessions_app.errors import AgentFolderError

SKIPPED = {"__pycache__", "migrations", "node_modules", "site-packages"}
SUFFIXES = (".py", ".yaml")


def agent_dirs() -> tuple[Path, ...]:
    """Return the directories of agent folders; none while the settings are invalid."""
    try:
        return conf().agent_dirs
    except ValidationError:  # `check_settings` reports it
        return ()


def package_directories() -> dict[str, Path]:
    """Return the directories of the packages with an `agents.py`, by the name of that module."""
    packages = {f"{config.name}.agents": Path(config.path) for config in django_apps.get_app_configs()}
    return {name: path for name, path in packages.items() if (path / "agents.py").is_file()}


def folder_directories() -> dict[str, Path]:
    """Return the agent folders by name."""
    return {folder.name: folder for directory in agent_dirs() for folder in _folders_in(directory)}


def source_files() -> dict[Path, int]:
    """Return the Python and YAML files from which agents are made, with the times of their last change."""
    roots = [*package_directories().values(), *(directory.resolve() for directory in agent_dirs())]
    return {file: changed for root in roots for file, changed in _files_below(root)}


def _folders_in(directory: Path) -> list[Path]:
    try:
        return list(agent_folders(directory))
    except (AgentFolderError, OSError):  # `agent_registry.discover` yields it
        return []


def _files_below(root: Path) -> Iterator[tuple[Path, int]]:
    for place, directories, files in os.walk(root):
        directories[:] = [name for name in directories if name not in SKIPPED and not name.startswith(".")]
        for name in files:
            if name.endswith(SUFFIXES):
                try:
                    yield Path(place, name), os.stat(os.path.join(place, name)).st_mtime_ns
                except OSError:  # removed since it was listed
                    continue
