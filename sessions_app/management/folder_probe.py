"""Checks of an agent folder: a search for missing imports without running it, and a first import.

Running the folder would only show the first missing import; its author wants to see all at once. It is loaded in a
child process, because its code may run forever, print, or exit.

The child runs this module: `python -m sessions_app.management.folder_probe FOLDER RESULT`. It writes the outcome to
the file RESULT rather than to stdout, where the folder may print.
"""

import ast
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import django

from runtime.agents.tree import tools_of
from runtime.apps.app import App
from runtime.errors import ConfigurationError
from runtime.google_adk import runtime_name
from sessions_app.agent_apps.loading.folders import load_folder
from sessions_app.agent_apps.loading.load_errors import reason_of
from sessions_app.errors import AgentFolderError
from sessions_app.management.agent_listing import agent_title, agents_of, tool_line


@dataclass(frozen=True)
class ImportFlaw:
    """A line of a file that fails in this environment."""

    file: Path
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}  (line {self.line} of {self.file})"


def flaws_of(folder: Path) -> Iterator[ImportFlaw]:
    """Yield the missing imports of a folder, and its files that are not Python.

    Imports that may fail, within `try` or for type checkers, are skipped.
    """
    for file in sorted(folder.rglob("*.py")):
        # A virtual environment in the folder is not code of its author.
        if any(part.startswith(".") or part == "site-packages" for part in file.parts[len(folder.parts) :]):
            continue
        try:
            tree = ast.parse(file.read_bytes(), str(file))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.args[0] if error.args else "the parser ran out of memory"
            yield ImportFlaw(file, getattr(error, "lineno", None) or 1, f"not Python: {reason}")
            continue
        for node in _required(tree):
            for problem in dict.fromkeys(_problems(node, folder)):
                yield ImportFlaw(file, node.lineno, problem)


def _required(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that must succeed when the module runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and _is_for_type_checkers(child):
            yield from _required(ast.Module(child.orelse, []))
        elif not isinstance(child, ast.Try):
            yield from _required(child)


def _is_for_type_checkers(condition: ast.If) -> bool:
    return ast.unparse(condition.test).rpartition(".")[2] == "TYPE_CHECKING"


def _problems(node: ast.Import | ast.ImportFrom, folder: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _module_problem(alias.name, folder)
    elif node.module and not node.level:
        if runtime_name(node.module):
            for alias in node.names:
                yield from _runtime_problem(node.module, alias.name)
        elif node.module == "google":
            for alias in node.names:
                yield from _module_problem(f"google.{alias.name}", folder)
        else:
            yield from _module_problem(node.module, folder)


def _module_problem(name: str, folder: Path) -> Iterator[str]:
    if runtime_name(name):
        yield from _runtime_problem(name)
        return
    parts = name.split(".")
    # `google` is a namespace: it exists as soon as one of its packages is installed.
    package = ".".join(parts[:2]) if parts[0] == "google" else parts[0]
    # The directory of an agent folder is on the import path, so modules next to the folder are found.
    is_local = (folder.parent / parts[0]).exists() or (folder.parent / f"{parts[0]}.py").exists()
    if not is_local and not _exists(package):
        yield f"missing  {package}, which is not installed"


def _runtime_problem(module: str, name: str = "*") -> Iterator[str]:
    """Import a module below `google.adk`, or a name from it. Yield the reason if this fails."""
    wanted = module
    try:
        imported = import_module(runtime_name(module) or module)
        if name != "*" and not hasattr(imported, name):
            wanted = f"{module}.{name}"
            import_module(f"{imported.__name__}.{name}")
    except ConfigurationError as error:  # a package that only this part needs
        yield f"missing  {wanted}: {error}"
    except ImportError:
        yield f"missing  {wanted}, which this runtime does not have: docs/adk-api.md gives the reasons"


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@dataclass(frozen=True)
class Probe:
    """Outcome of loading a folder: lines about its agents, or the error."""

    lines: list[str]
    error: str | None = None


def probe(folder: Path, seconds: float) -> Probe:
    """Load a folder in a child process, which is killed after `seconds`."""
    with TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        child = subprocess.Popen(  # noqa: S603 (this module)
            [sys.executable, "-m", __name__, str(folder), str(result)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "PYTHONDONTWRITEBYTECODE": "1",  # the command changes nothing in the folder
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a process group to kill, with the processes that the folder starts
        )
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            return Probe([], f"Its import did not end within {seconds:g} s.")
        finally:
            _kill(child)  # After success as well: the folder may have started processes.
        if not result.exists():
            return Probe([], f"Its import ended the process with code {child.returncode}.")
        return Probe(**json.loads(result.read_text()))


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and its own child processes."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:  # all of them have ended
        return
    child.wait()


def _load(folder: Path) -> Probe:
    try:
        app = load_folder(folder, replace_google_adk=True)
    except AgentFolderError as error:
        return Probe([], str(error))
    try:
        return Probe(list(_lines(app)))
    except Exception as error:  # noqa: BLE001 - the classes of the folder may raise anything
        return Probe([], f"The agents of '{folder}' cannot be listed: {reason_of(error).rstrip('.')}.")


def _lines(app: App) -> Iterator[str]:
    for indent, agent in agents_of(app):
        yield f"{indent}{agent_title(agent)}"
        yield from (f"{indent}  - {tool_line(tool)}" for tool in tools_of(agent))


if __name__ == "__main__":
    django.setup()  # The site imports folders after it: they may use its settings and its models.
    Path(sys.argv[2]).write_text(json.dumps(asdict(_load(Path(sys.argv[1])))))
    os._exit(0)  # Threads of the folder may run forever.
