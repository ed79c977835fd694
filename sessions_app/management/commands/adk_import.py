"""`manage.py adk_import`: check an agent folder written for google-adk, and print the setting to serve it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runtime.google_adk import is_google_adk_installed
from sessions_app.agent_apps.loading.env_files import env_file_of
from sessions_app.agent_apps.loading.folders import agent_folders, is_agent_folder
from sessions_app.errors import AgentFolderError
from sessions_app.management.folder_probe import flaws_of, probe


class Command(BaseCommand):
    """Check a folder, without changing or copying anything. The exit code is 1 if the folder cannot be served."""

    help = "Check an agent folder written for google-adk, and print the setting that serves it."
    requires_system_checks: list[str] = []  # the folder is checked, not the site

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the folder with the agent.py")
        parser.add_argument("--seconds", type=float, default=30.0, help="longest time for the import")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the missing imports, the agents with their tools, and the setting."""
        folder = _agent_folder(options["path"])
        flaws = list(flaws_of(folder))
        self._write_section("Imports", list(map(str, flaws)) or ["all are found"])
        if env_file := env_file_of(folder):
            note = f"{env_file} is read; variables that are set stay as they are"
            self._write_section("Environment", [note])
        found = probe(folder, options["seconds"])
        if found.error:
            raise CommandError(found.error)
        self._write_section("Agents, and their tools as the model sees them", found.lines)
        note = "docs/adk-differences.md lists what behaves otherwise here"
        self._write_section("Differences from google-adk", [note])
        self._write_section(*_setting(folder.parent))

    def _write_section(self, title: str, lines: list[str]) -> None:
        self.stdout.write(title, self.style.MIGRATE_HEADING)
        for line in lines:
            self.stdout.write(f"  {line}")


def _setting(directory: Path) -> tuple[str, list[str]]:
    """Return a title with the folders of a directory, and the settings that serve them.

    Raises:
        CommandError: the directory cannot be named in the settings.
    """
    try:
        served = ", ".join(folder.name for folder in agent_folders(directory))
    except (AgentFolderError, OSError) as error:
        raise CommandError(str(error)) from error
    lines = [f'ADK["agent_dirs"] = ["{directory}"]']
    if is_google_adk_installed():
        lines.append('ADK["replace_google_adk"] = True, because google-adk is installed')
    lines.append(f"or, without an edit: AGENT_DIRS={directory} make run")
    return f"This setting serves {served}", lines


def _agent_folder(path: Path) -> Path:
    """Return the absolute path of an agent folder.

    Raises:
        CommandError: the path names no agent folder.
    """
    if not path.exists():
        raise CommandError(f"There is no '{path}'.")
    if not path.is_dir():
        raise CommandError(f"'{path}' is a file: name the folder that it is in.")
    folder = path.resolve()
    if is_agent_folder(folder):
        return folder
    try:
        inner = ", ".join(found.name for found in agent_folders(folder))
    except (AgentFolderError, OSError) as error:
        raise CommandError(str(error)) from error
    hint = "Define root_agent in its agent.py."
    if inner:
        hint = f"It holds agent folders: {inner}. Name one of them."
    raise CommandError(f"'{path}' is no agent folder. {hint}")
