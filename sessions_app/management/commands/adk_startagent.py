"""`manage.py adk_startagent`: write the package of a new agent, with a tool and a test."""

from argparse import ArgumentParser
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from string import Template
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from runtime.apps.app import App
from sessions_app.agent_apps.registry import discover

TEMPLATES = Path(__file__).parent.parent / "agent_template"
NEXT = """\
Created {name}/agents.py and {name}/test_agents.py. Next:
  1. Add "{name}" to INSTALLED_APPS in {settings}.
  2. .venv/bin/python -m pytest {name}
  3. .venv/bin/python manage.py adk_check {name}    shows the agent as its model sees it
  4. make run
"""


class Command(BaseCommand):
    """Write a package to the working directory, like `startapp`. An existing directory is refused."""

    help = "Write a package with an agent, a tool and a test to the working directory."
    requires_system_checks: list[str] = []  # a mistake in another agent is no reason to refuse

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of the package, the Django app and the agent")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the files and what to do next."""
        name = options["name"]
        if problem := _problem_of(name):
            raise CommandError(problem)
        package = Path.cwd() / name
        try:
            package.mkdir()
        except OSError as error:
            raise CommandError(f"'{package}' cannot be made: {error.strerror}.") from error
        for template in sorted(TEMPLATES.iterdir()):
            text = Template(template.read_text()).substitute(name=name)
            (package / template.name.removesuffix("-tpl")).write_text(text)
        self.stdout.write(NEXT.format(name=name, settings=settings.SETTINGS_MODULE), ending="")


def _problem_of(name: str) -> str | None:
    if not name.isidentifier() or iskeyword(name) or name == "user":
        return f"{name!r} cannot name an agent: use letters, digits and underscores, begin with a letter, avoid 'user'."
    if any(isinstance(app, App) and app.name == name for _, app in discover()):
        return f"The site has an app {name!r} already: choose another name."
    if (Path.cwd() / name).exists():
        return f"'{Path.cwd() / name}' exists already: choose another name."
    if spec := find_spec(name):
        return f"{name!r} is the name of a module ({spec.origin}): choose another name."
    return None
