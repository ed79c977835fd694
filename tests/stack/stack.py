"""The whole site as `make run` starts it, for tests to use, stop and kill."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

import psutil

from adk_site.embedded.paths import CHECKOUT, socket_dir
from tests.stack.web_process import START_SECONDS, free_port

READY = "Ctrl-C stops everything"
STOP_SECONDS = 60.0
STARTED = re.compile(r"system +\| (\w+) started \(pid=(\d+)\)")
OWN_VARIABLES = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "HOST")


class Stack:
    """One site with the data directory it is given. A context manager: started on entry, stopped on exit."""

    def __init__(self, data: Path, port: int | None = None, **environment: str) -> None:
        """`environment` adds variables to those of the site's processes."""
        self.data = data.resolve()
        self.port = port or free_port()
        self._environment = environment
        self._lines: list[str] = []
        self._changed = threading.Condition()

    @property
    def base_url(self) -> str:
        return f"http://{self._environment.get('HOST', '127.0.0.1')}:{self.port}"

    @property
    def credentials(self) -> dict[str, str]:
        """User name -> password, of `demo` and `admin`."""
        kept: dict[str, str] = json.loads((self.data / "credentials.json").read_text())
        return kept

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the site's processes."""
        inherited = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
        own = {"ADK_DATA_DIR": str(self.data), "PORT": str(self.port), "ADK_POSTGRES_FSYNC": "off"}
        return {**inherited, **own, **self._environment}

    @property
    def output(self) -> str:
        """What the terminal shows so far."""
        with self._changed:
            return "".join(self._lines)

    @property
    def pids(self) -> dict[str, int]:
        """The pids of `web`, `worker`, `jobs` and `beat`."""
        return {name: int(pid) for name, pid in STARTED.findall(self.output)}

    def launch(self) -> None:
        """Start the site without waiting for it."""
        self._lines = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adk_site.dev"],
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self) -> None:
        """Start the site; all of it is ready when this returns."""
        self.launch()
        self.wait_for(READY, START_SECONDS)

    def wait_for(self, text: str, seconds: float) -> None:
        """Wait until the terminal shows `text`; fails with all it shows if it never does."""
        with self._changed:
            self._changed.wait_for(lambda: text in "".join(self._lines) or self.has_ended, seconds)
        assert text in self.output, f"{text!r} did not come:\n{self.output}"

    @property
    def has_ended(self) -> bool:
        return self._lines[-1:] == [""]

    def wait(self) -> int:
        """Wait until the site has ended; returns its exit code."""
        code = self.process.wait(STOP_SECONDS)
        self._reader.join(STOP_SECONDS)
        return code

    def interrupt(self) -> int:
        """Press Ctrl-C, which reaches the whole foreground group; returns the exit code."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.wait()

    def stop(self) -> None:
        """Stop whatever runs, as `make stop` does."""
        subprocess.run(
            [sys.executable, "-m", "adk_site.dev.stop"],
            cwd=CHECKOUT,
            env={**os.environ, "ADK_DATA_DIR": str(self.data)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.wait()

    def processes(self) -> list[psutil.Process]:
        """Every live process of this site: of the tree, left over, or a server."""
        return [process for process in psutil.process_iter() if self._owns(process)]

    def kill(self) -> None:
        """Kill -9 everything, the servers too."""
        for process in self.processes():
            process.kill()
        self.wait()

    def __enter__(self) -> "Stack":
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stop()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._add(line)
        self._add("")

    def _add(self, line: str) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()

    def _owns(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            traces = " ".join([*process.cmdline(), process.environ().get("ADK_DATA_DIR", "")])
        except psutil.Error:
            return False
        return str(self.data) in traces or str(socket_dir(self.data)) in traces
