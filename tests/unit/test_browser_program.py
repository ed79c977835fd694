"""Contract: the browser tests find a browser, or get one; where there is none they are skipped, and in CI they fail.

`PATH` is a directory of the test's own, as in an empty container; commands that install something are played.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import program
from tests.browser.program import DOWNLOAD, LAUNCH, find_browser


@pytest.fixture
def add_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Function that adds a program to the otherwise empty machine, and returns its path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    names = tuple(name for name in program.PROGRAMS if not name.startswith("/"))
    monkeypatch.setattr(program, "PROGRAMS", names)  # the machine of the test may be a Mac with a Chrome

    def add(name: str) -> str:
        path = tmp_path / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    return add


class Commands:
    """Plays commands: those with one of the words succeed, and an installed package adds its program."""

    def __init__(self, succeeding: set[str], add_program: Callable[[str], str]) -> None:
        self.run: list[list[str]] = []
        self._succeeding = succeeding
        self._add_program = add_program

    def __call__(self, command: list[str]) -> bool:
        self.run.append(command)
        succeeds = not self._succeeding.isdisjoint(command)
        if succeeds and "install" in command and "apt-get" in command:
            self._add_program(command[-1])
        return succeeds


@pytest.mark.parametrize("name", ["chromium-headless-shell", "chromium", "google-chrome"])
def test_a_browser_of_the_machine_is_used_and_nothing_is_installed(
    name: str, add_program: Callable[[str], str]
) -> None:
    path = add_program(name)
    commands = Commands(set(), add_program)
    assert find_browser(commands) == {"executable_path": path}
    assert commands.run == []


def test_playwright_downloads_a_browser(add_program: Callable[[str], str]) -> None:
    commands = Commands({"playwright", LAUNCH[-1]}, add_program)
    assert find_browser(commands) == {}
    assert commands.run == [DOWNLOAD, LAUNCH]


@pytest.mark.parametrize("package", ["chromium-headless-shell", "chromium"])
def test_debians_package_takes_the_place_of_a_download_that_fails_or_does_not_start(
    package: str, add_program: Callable[[str], str], tmp_path: Path
) -> None:
    add_program("apt-get")
    commands = Commands({"playwright", "update", package}, add_program)
    assert find_browser(commands) == {"executable_path": str(tmp_path / package)}


@pytest.mark.parametrize("programs", [[], ["apt-get"]])
def test_there_is_none_where_nothing_can_be_installed(
    programs: list[str], add_program: Callable[[str], str]
) -> None:
    for name in programs:
        add_program(name)
    assert find_browser(Commands(set(), add_program)) is None
