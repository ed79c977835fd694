"""Loading of an agent folder in a child process, because its code may run forever, print, or exit.

The child runs this module: `python -m sessions_app.management.folder_probe FOLDER RESULT`. It writes the outcome to
the file RESULT rather than to stdout, where the folder may print.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import django

from runtime.agents.tree import tools_of
from runtime.apps.app import App
from sessions_app.agent_apps.loading.folders import load_folder
from sessions_app.agent_apps.loading.load_errors import reason_of
from sessions_app.errors import AgentFolderError
from sessions_app.management.agent_listing import agent_title, agents_of, tool_line


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
