"""Source files of the site's agents: the packages with an `agents.py`, and the agent folders.

In development each process checks the files several times a second, so a check must be cheap. It stats the known
directories and files, and lists a directory only after its modification time has changed.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.apps import apps as django_apps
from pydantic import ValidationError

from sessions_app.agent_apps.loading.folders import agent_folders, site_code_in
from sessions_app.conf import conf
from sessions_app.errors import AgentFolderError

SKIPPED = {"__pycache__", "migrations", "node_modules", "site-packages"}
SUFFIXES = (".py", ".yaml")
ENVIRONMENT = ".env"
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
"""File in the root of each virtual environment, whatever the name of its directory."""
# Some file systems store times in steps of two seconds.
SETTLING_NANOSECONDS = 2_000_000_000
"""Maximum time in which two changes of a directory may get the same time stamp."""


@dataclass(frozen=True)
class _Listing:
    """Source files in a directory, and its directories to look into, as of the modification time `changed`."""

    changed: int
    files: tuple[Path, ...] = ()
    directories: tuple[str, ...] = ()


_listings: dict[str, _Listing] = {}


def agent_dirs() -> tuple[Path, ...]:
    """Return the directories of agent folders; none while the settings are invalid."""
    try:
        return conf().agent_dirs
    except ValidationError:  # `check_settings` reports it
        return ()


def watched_dirs() -> list[Path]:
    """Return the resolved directories of agent folders, without directories refused because of code of the site."""
    return [directory.resolve() for directory in agent_dirs() if site_code_in(directory) is None]


def package_directories() -> dict[str, Path]:
    """Return the directories of packages with an `agents.py`, by the name of the module."""
    directories = {}
    for config in django_apps.get_app_configs():
        directory = Path(config.path)
        if (directory / "agents.py").is_file():
            directories[f"{config.name}.agents"] = directory
    return directories


def folder_directories() -> dict[str, Path]:
    """Return the agent folders by name, or by path if an earlier folder has the name."""
    found: dict[str, Path] = {}
    for directory in agent_dirs():
        for folder in _folders_in(directory):
            name = str(folder) if folder.name in found else folder.name
            found[name] = folder
    return found


def source_files() -> dict[Path, int]:
    """Return the Python, YAML and `.env` files of agents with their modification times."""
    roots = [*package_directories().values(), *watched_dirs()]
    files: dict[Path, int] = {}
    for root in roots:
        files.update(_files_below(root))
    return files


def _folders_in(directory: Path) -> list[Path]:
    try:
        return list(agent_folders(directory))
    except (AgentFolderError, OSError):  # `registry.discover` yields it
        return []


def _files_below(directory: str | Path) -> Iterator[tuple[Path, int]]:
    try:
        listing = _listing_of(os.fspath(directory))
    except OSError:  # removed since it was listed, or not readable
        return
    for file in listing.files:
        try:
            yield file, os.stat(file).st_mtime_ns
        except OSError:  # removed since it was listed
            continue
    for inner in listing.directories:
        yield from _files_below(inner)


def _listing_of(directory: str) -> _Listing:
    changed = os.stat(directory).st_mtime_ns
    known = _listings.get(directory)
    if known is not None and known.changed == changed:
        return known
    listing = _list(directory, changed)
    # A directory that changed just now may change again without a new time stamp: list it again next time.
    if time.time_ns() - changed > SETTLING_NANOSECONDS:
        _listings[directory] = listing
    return listing


def _list(directory: str, changed: int) -> _Listing:
    """List a directory. A virtual environment counts as empty; hidden directories and links are skipped."""
    with os.scandir(directory) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    if any(entry.name == VIRTUAL_ENVIRONMENT for entry in found):
        return _Listing(changed)
    files = []
    directories = []
    for entry in found:
        if entry.name.endswith(SUFFIXES) or entry.name == ENVIRONMENT:
            files.append(Path(entry.path))
        is_skipped = entry.name in SKIPPED or entry.name.startswith(".")
        if not is_skipped and entry.is_dir(follow_symlinks=False):
            directories.append(entry.path)
    return _Listing(changed, tuple(files), tuple(directories))
