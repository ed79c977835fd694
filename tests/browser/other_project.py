"""A Django project that `docs/embedding.md` is followed in, literally, with the wheel of this checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import psycopg

from adk_site.embedded.paths import CHECKOUT
from adk_site.embedded.postgres import postgres_url
from adk_site.embedded.redis import redis_url
from tests.free_port import free_port
from tests.stack.web_process import wait_until_listening

PAGE = (CHECKOUT / "docs" / "embedding.md").read_text()
FILE = re.compile(
    r"^```\w+\n(?:# |<!-- )((?:mysite|shop)/[\w/.]+)(?: -->)?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COLOURS = re.compile(r"^```css\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PREPARATION = re.compile(r"^python manage\.py ((?:check|migrate).*)$", re.MULTILINE)
TEMPLATES = 'TEMPLATES[0]["DIRS"] = [BASE_DIR / "mysite" / "templates"]\n'
"""Settings of a project that has templates beside its settings, as the page expects."""
PREPARE = """
import sys
import django
django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
for command in sys.argv[1:]:
    call_command(*command.split())
User.objects.create_user("ada", password="secret")
"""
"""Runs the commands of the page in one process, because the imports take seconds."""


def build_wheel(folder: Path) -> Path:
    """Build the wheel and unpack it, as an installation does; return the folder of the packages."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "packages")
    return folder / "packages"


def start_project(folder: Path) -> Path:
    """Make the project as Django does, without settings to load; return its settings file."""
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    make = [sys.executable, "-m", "django", "startproject", "mysite", str(folder)]
    subprocess.run(make, check=True, cwd=folder, env=environment)
    return folder / "mysite" / "settings.py"


class OtherProject:
    """The project with its web process. A context manager: starts on entry, stops on exit."""

    def __init__(self, folder: Path, packages: Path, servers: Path, model: Mapping[str, str]) -> None:
        """Take the unpacked wheel, the data directory of PostgreSQL and Redis, and the variables of the model."""
        self.folder = folder
        self._packages = packages
        self._servers = servers
        self._model = model
        self.port = free_port()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> OtherProject:
        settings = start_project(self.folder)
        (self.folder / "shop").mkdir()
        (self.folder / "shop" / "__init__.py").touch()
        (self.folder / "mysite" / "templates").mkdir()
        for name, text in FILE.findall(PAGE):
            file = self.folder / name
            file.write_text(file.read_text() + text if file == settings else text)
        settings.write_text(settings.read_text() + TEMPLATES)
        with psycopg.connect(postgres_url(self._servers), autocommit=True) as connection:
            connection.execute("CREATE DATABASE mysite")
        prepare = [sys.executable, "-c", PREPARE, *PREPARATION.findall(PAGE)]
        subprocess.run(prepare, cwd=self.folder, env=self._environment, check=True)
        assert "python manage.py runserver 8000" in PAGE
        serve = [sys.executable, "manage.py", "runserver", "--noreload", str(self.port)]
        self._web = subprocess.Popen(serve, cwd=self.folder, env=self._environment)
        wait_until_listening(self.port)
        return self

    def __exit__(self, *_: object) -> None:
        self._web.terminate()
        self._web.wait()

    @property
    def _environment(self) -> dict[str, str]:
        redis, number = redis_url(self._servers), 1  # The site has 0, with the counts of its own people.
        host = postgres_url(self._servers).partition("host=")[2]
        servers = {
            "REDIS_URL": f"{redis}?db={number}",
            "BROKER_URL": f"{redis.replace('unix', 'redis+socket')}?virtual_host={number}",
            "PGHOST": host,
        }
        own = {
            "DJANGO_SETTINGS_MODULE": "mysite.settings",
            "PYTHONPATH": str(self._packages),
            "PGUSER": "postgres",
        }
        return {**os.environ, **self._model, **servers, **own}
