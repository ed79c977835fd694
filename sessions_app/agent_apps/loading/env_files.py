"""Environment variables from the `.env` files of agent folders."""

import os
from dataclasses import dataclass
from pathlib import Path

import environ

from sessions_app.errors import AgentFolderError


@dataclass(frozen=True)
class _ReadFile:
    """A `.env` file that was read: its modification time, and the variables set from it."""

    path: Path
    changed: int
    variables: dict[str, str]


_read_files: dict[Path, _ReadFile] = {}
"""The last file read for each agent folder."""


def env_file_of(folder: Path) -> Path | None:
    """Return the `.env` file of the folder or of the directory above; None if neither has any."""
    return next((file for file in (folder / ".env", folder.parent / ".env") if file.is_file()), None)


def set_variables_of(folder: Path) -> None:
    """Set the variables of the folder's `.env` file. Variables of the process are not overwritten.

    If the file has changed, the variables set from it before are removed first.

    Raises:
        AgentFolderError: the file is not UTF-8.
    """
    file = env_file_of(folder)
    earlier = _read_files.get(folder)
    changed = file.stat().st_mtime_ns if file else 0
    if earlier and (earlier.path, earlier.changed) == (file, changed):
        return
    if earlier:
        _remove_variables(earlier)
        del _read_files[folder]
    if file:
        _read_files[folder] = _ReadFile(file, changed, _read(file))


def _remove_variables(file: _ReadFile) -> None:
    for name, value in file.variables.items():
        if os.environ.get(name) == value:  # otherwise other code has set it since
            del os.environ[name]


def _read(file: Path) -> dict[str, str]:
    """Read the file into the environment; return the new variables."""
    before = set(os.environ)
    try:
        environ.Env.read_env(file)
    except UnicodeDecodeError as error:
        raise AgentFolderError(f"{file} is not UTF-8: {error}.") from error
    return {name: os.environ[name] for name in os.environ.keys() - before}
