"""`manage.py adk_check`: list the apps of the site and their agents, or explain one app, and check them."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.checks import ERROR
from django.core.management.base import BaseCommand, CommandError
from django.template.defaultfilters import pluralize

from runtime.agents.tree import tools_of
from runtime.apps.app import App
from sessions_app.agent_apps.checks.agents import problems_of
from sessions_app.agent_apps.registry import discover
from sessions_app.management.agent_listing import agent_title, agents_of, graph_lines, tool_name
from sessions_app.management.explanation import explain


class Command(BaseCommand):
    """List and check the site's agents. The exit code is 1 for errors and 0 for warnings."""

    help = "List the apps of the site and their agents, or explain one app to its author, then check them."
    requires_system_checks: list[str] = []  # this command runs the check of the agents after the list

    def add_arguments(self, parser: ArgumentParser) -> None:
        words = "an app, to explain each of its tools as the model sees it"
        parser.add_argument("name", nargs="?", help=words)

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the list or the explanation to stdout and the problems to stderr."""
        modules = list(discover())
        if options["name"]:
            modules = [_find_app(options["name"], modules)]
        for module_name, app in modules:
            if isinstance(app, Exception):
                self.stdout.write(f"(no app)  {module_name}")
                continue
            self.stdout.write(f"{app.name}  {module_name}")
            lines = _app_lines(app)
            if options["name"]:
                lines = explain(app)
            for line in lines:
                self.stdout.write(line)
        problems = list(problems_of(modules))
        for problem in problems:
            style = self.style.ERROR if problem.level >= ERROR else self.style.WARNING
            self.stderr.write(f"{problem}", style)
        errors = sum(problem.level >= ERROR for problem in problems)
        counts = {"app": len(modules), "error": errors, "warning": len(problems) - errors}
        summary = ", ".join(f"{count} {noun}{pluralize(count)}" for noun, count in counts.items()) + "."
        if errors:
            raise CommandError(summary)
        self.stdout.write(summary)


def _find_app(name: str, modules: list[tuple[str, App | Exception]]) -> tuple[str, App | Exception]:
    """Return the app with a name, or the unloadable module with this name.

    Raises:
        CommandError: there is no such app or module.
    """
    for module_name, app in modules:
        known = {module_name, module_name.removesuffix(".agents")}
        if isinstance(app, App):
            known = {app.name}
        if name in known:
            return module_name, app
    names = ", ".join(app.name for _, app in modules if isinstance(app, App))
    raise CommandError(f"There is no app {name!r}. The apps of this site: {names}.")


def _app_lines(app: App) -> Iterator[str]:
    for indent, agent in agents_of(app):
        yield f"  {indent}{agent_title(agent)}"
        for line in graph_lines(agent):
            yield f"  {indent}  {line}"
        if tools := tools_of(agent):
            yield f"  {indent}  tools: {', '.join(map(tool_name, tools))}"
