"""Contract: `manage.py adk_startagent` writes an agent that works and a test that passes; a bad name writes nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from adk_site.embedded.paths import CHECKOUT

WITHOUT_SERVERS = """
import os

def pytest_sessionfinish():
    assert "ADK_POSTGRES_TEMPLATE" not in os.environ, "PostgreSQL has made a cluster for the tests."
"""
"""A `conftest.py`: tests of an agent take milliseconds, and a new cluster most of a minute."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of the directory and of the checkout."""
    inherited = {name: value for name, value in os.environ.items() if name != "ADK_POSTGRES_TEMPLATE"}
    variables = {**inherited, "PYTHONPATH": f"{directory}{os.pathsep}{CHECKOUT}", **environment}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_new_agent_is_served_and_its_test_passes_and_can_fail(project: Path) -> None:
    out = StringIO()
    call_command("adk_startagent", "shop", stdout=out)
    assert out.getvalue().startswith("Created shop/agents.py and shop/test_agents.py. Next:\n")
    (project / "site_settings.py").write_text(
        "from tests.settings import *\nINSTALLED_APPS = [*INSTALLED_APPS, 'shop', 'closed']"
    )
    agents = (project / "shop" / "agents.py").read_text()
    assert 'starters = ["When are you open on Monday?"' in agents
    call_command("adk_startagent", "closed", stdout=StringIO())
    (project / "closed" / "agents.py").write_text(
        (project / "closed" / "agents.py").read_text().replace("9 to 18", "never")
    )
    listed = run(project, str(CHECKOUT / "manage.py"), "adk_check", DJANGO_SETTINGS_MODULE="site_settings")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "shop  shop.agents\n  shop  LlmAgent, model demo\n    tools: opening_hours\n" in listed.stdout

    (project / "shop" / "conftest.py").write_text(WITHOUT_SERVERS)
    configuration = ("-c", str(CHECKOUT / "pyproject.toml"), "--rootdir", str(project))
    arguments = ("-m", "pytest", *configuration, "-p", "no:cacheprovider", "-rA", "shop", "closed")
    tested = run(project, *arguments, DJANGO_SETTINGS_MODULE="site_settings")
    outcomes = re.findall(r"^(PASSED|FAILED) (\w+)/", tested.stdout, re.MULTILINE)
    assert outcomes == [("PASSED", "shop"), ("FAILED", "closed")], tested.stdout
    assert "found:    responds('opening_hours', hours='never')" in tested.stdout


def test_the_files_are_formatted_and_clean(project: Path) -> None:
    call_command("adk_startagent", "shop", stdout=StringIO())
    own = ("--config", str(CHECKOUT / "pyproject.toml"), "--config", f"src=['{CHECKOUT}']")
    for command in (("check",), ("format", "--check")):
        answer = run(project, "-m", "ruff", *command, *own, "shop")
        assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("two-words", "'two-words' cannot name an agent: use letters, digits and underscores"),
        ("../up", "'../up' cannot name an agent"),
        ("", "'' cannot name an agent"),
        ("class", "'class' cannot name an agent"),
        ("user", "'user' cannot name an agent"),
        ("help_desk", "The site has an app 'help_desk' already: choose another name."),
        ("json", "'json' is the name of a module ("),
        ("runtime", "'runtime' is the name of a module ("),
        ("taken", "taken' exists already: choose another name."),
    ],
)
def test_a_bad_or_taken_name_is_refused_in_one_sentence(project: Path, name: str, expected: str) -> None:
    (project / "taken").mkdir()
    with pytest.raises(CommandError) as refused:
        call_command("adk_startagent", name, stdout=StringIO())
    assert expected in str(refused.value) and "\n" not in str(refused.value)
    assert [path.name for path in project.iterdir()] == ["taken"]
    assert list((project / "taken").iterdir()) == []
