"""Contract: every change of an agent's files is seen; a look at files that have not changed lists no directory."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from sessions_app.agent_apps.loading.sources import source_files


@pytest.fixture
def agent_dir(tmp_path: Path, settings: Settings) -> Path:
    """A directory with the agent folder `weather`."""
    settings.ADK = {"agent_dirs": [str(tmp_path)]}
    (tmp_path / "weather").mkdir()
    (tmp_path / "weather" / "agent.py").touch()
    return tmp_path


def watched(directory: Path) -> set[str]:
    """Return the watched files below a directory, as paths within it."""
    files = (file for file in source_files() if file.is_relative_to(directory))
    return {str(file.relative_to(directory)) for file in files}


def age(directory: Path) -> None:
    """Let the last change of all directories be a minute ago."""
    past = time.time() - 60
    for place, _, _ in os.walk(directory):
        os.utime(place, (past, past))


@pytest.mark.parametrize("is_old", [False, True])
def test_new_changed_and_removed_files_are_seen(agent_dir: Path, is_old: bool) -> None:
    if is_old:
        age(agent_dir)
    before = source_files()
    assert watched(agent_dir) == {"weather/agent.py"}
    (agent_dir / "weather" / "agent.py").write_text("changed = True")
    assert source_files() != before
    (agent_dir / "weather" / "tools").mkdir()
    (agent_dir / "weather" / "tools" / "sky.py").touch()
    (agent_dir / "weather" / "notes.txt").touch()
    assert watched(agent_dir) == {"weather/agent.py", "weather/tools/sky.py"}
    (agent_dir / "weather" / "agent.py").unlink()
    assert watched(agent_dir) == {"weather/tools/sky.py"}
    (agent_dir / "weather" / "tools" / "sky.py").unlink()
    (agent_dir / "weather" / "tools").rmdir()
    assert watched(agent_dir) == set()


@pytest.mark.parametrize("name", [".venv", "node_modules", "__pycache__", ".git"])
def test_directories_of_others_are_left_out(agent_dir: Path, name: str) -> None:
    (agent_dir / "weather" / name).mkdir()
    (agent_dir / "weather" / name / "module.py").touch()
    assert watched(agent_dir) == {"weather/agent.py"}


def test_a_virtual_environment_is_left_out_under_any_name(agent_dir: Path) -> None:
    library = agent_dir / "weather" / "env" / "lib"
    library.mkdir(parents=True)
    (library / "module.py").touch()
    assert watched(agent_dir) == {"weather/agent.py", "weather/env/lib/module.py"}
    (agent_dir / "weather" / "env" / "pyvenv.cfg").touch()
    assert watched(agent_dir) == {"weather/agent.py"}


def test_directories_that_have_not_changed_are_not_listed_again(
    agent_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(agent_dir)
    first = source_files()
    listed: list[str] = []
    scandir = os.scandir

    def record(path: str) -> os._ScandirIterator[str]:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", record)
    assert source_files() == first
    assert [path for path in listed if path.startswith(str(agent_dir))] == []
    (agent_dir / "weather" / "sky.py").touch()
    assert "weather/sky.py" in watched(agent_dir)
    assert [path for path in listed if path.startswith(str(agent_dir))] == [str(agent_dir / "weather")]
