"""Contract: the README's commands and examples work in a fresh clone with a fresh environment.

The tests read the commands from the README of HEAD, so README and tests cannot disagree.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import httpx
import pytest

from adk_site.embedded.paths import CHECKOUT
from tests.free_port import free_port
from tests.stack.stack import READY, Stack

pytestmark = pytest.mark.stack

INHERITED = re.compile("HOME|LANG|PIP_.*|SSL_CERT_.*|.*_proxy|.*_PROXY")
INSTALLATION_SECONDS = 300.0  # only a limit for commands that hang
FENCED = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AGENTS_PY = re.compile(r"^```python\n# shop/agents\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOP_SETTINGS = """
from adk_site.settings import *
INSTALLED_APPS = ["shop", *INSTALLED_APPS]
"""
UNUSED_SERVERS = {"DATABASE_URL": "postgresql://nobody@localhost/none", "REDIS_URL": "redis://localhost/0"}
MAKE = re.compile(r"^(make .+)$|`(make [^`]+)`", re.MULTILINE)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("newcomer") / "clone"
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(directory)], check=True)
    return directory


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Variables of a newcomer's shell: no settings of the site, no virtual environment; pip's settings are kept."""
    inherited = {name: value for name, value in os.environ.items() if INHERITED.fullmatch(name)}
    own_bin = str(Path(sys.executable).parent)
    path = [directory for directory in os.environ["PATH"].split(os.pathsep) if directory != own_bin]
    return {**inherited, "PATH": os.pathsep.join(path)}


def command_with(words: str, readme: str) -> str:
    """Return the README's shell block that contains these words."""
    (block,) = [block for block in FENCED.findall(readme) if words in block]
    return str(block).strip()


@contextmanager
def terminal(command: str, directory: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command in its own process group, which is killed after a timeout."""
    process = subprocess.Popen(
        shlex.split(command),
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    watchdog = Timer(INSTALLATION_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    with process:
        try:
            yield process
        finally:
            watchdog.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)


def read_until(text: str, process: subprocess.Popen[str]) -> str:
    """Return the process's output up to the line that contains `text`."""
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if text in line:
            return output
    pytest.fail(f"{text!r} is missing in the output:\n{output}")


def sign_in(address: str, user: str, password: str) -> httpx.Response:
    """Sign in and return the page that follows."""
    with httpx.Client(base_url=address, follow_redirects=True) as client:
        client.get("/accounts/login/")
        form = {"username": user, "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        return client.post("/accounts/login/", data=form)


def test_the_first_command_starts_the_site_and_prints_accounts_that_can_sign_in(
    clone: Path, environment: dict[str, str]
) -> None:
    command = command_with("make run", (clone / "README.md").read_text())
    with terminal(command, clone, {**environment, "PORT": str(free_port())}) as process:
        output = read_until(READY, process)
        (address,) = re.findall(r"The site is at +(\S+)", output)
        credentials: dict[str, str] = json.loads((clone / ".data" / "credentials.json").read_text())
        for user, password in credentials.items():
            assert re.search(rf"{user} +password +{re.escape(password)}", output)
            page = sign_in(address, user, password)
            assert page.status_code == 200 and page.url.path.startswith("/chat/")
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout is not None
        output += process.stdout.read()
        # make itself dies of SIGINT, unless its parent ignores SIGINT.
        assert process.wait() in (0, -signal.SIGINT)
    assert "Traceback" not in output
    assert Stack(clone / ".data").processes() == []


def test_every_make_command_of_the_readme_exists(clone: Path, environment: dict[str, str]) -> None:
    named = {first or second for first, second in MAKE.findall((clone / "README.md").read_text())}
    assert {"make run", "make test"} < named
    for command in named:
        answer = subprocess.run(
            [*shlex.split(command), "--dry-run"], cwd=clone, env=environment, capture_output=True, text=True
        )
        assert answer.returncode == 0, answer.stderr


def test_the_production_settings_of_the_readme_pass_the_deployment_check(
    clone: Path, environment: dict[str, str]
) -> None:
    """Uses the README's exports and the Python environment of this test run."""
    block = command_with("check --deploy", (clone / "README.md").read_text())
    script = block.replace(".venv/bin/python", shlex.quote(sys.executable))
    answer = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=clone,
        env={**environment, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "no issues" in answer.stdout


def test_the_agent_of_the_readme_is_found_in_an_app_that_precedes_the_sites(
    clone: Path, environment: dict[str, str]
) -> None:
    shop = clone / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "agents.py").write_text("".join(AGENTS_PY.findall((clone / "README.md").read_text())))
    (clone / "shop_settings.py").write_text(SHOP_SETTINGS)
    answer = subprocess.run(
        [sys.executable, "manage.py", "adk_check"],
        cwd=clone,
        env={**environment, **UNUSED_SERVERS, "ADK_DEV": "1", "DJANGO_SETTINGS_MODULE": "shop_settings"},
        capture_output=True,
        text=True,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("shop  shop.agents\n  clerk  LlmAgent, model demo\n    tools: price\n")
