"""The site as `make run` starts it; tests can start, stop and kill it."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import psutil

from adk_site.embedded.paths import CHECKOUT, socket_dir
from tests.free_port import free_port
from tests.stack.web_process import START_SECONDS

READY = "Ctrl-C stops everything"
STOP_SECONDS = 60.0
STARTED = re.compile(r"system +\| (\w+) started \(pid=(\d+)\)")
OWN_VARIABLES = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE", "HOST")


class Stack:
    """A site with its own data directory. A context manager: starts on entry, stops on exit."""

    def __init__(
        self, data: Path, port: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Take the data directory, the port (a free one by default) and additional environment variables."""
        self.data = data.resolve()
        self.port = port or free_port()
        self._environment = dict(environment or {})
        self._lines: list[str] = []
        self._changed = threading.Condition()

    @property
    def base_url(self) -> str:
        return f"http://{self._environment.get('HOST', '127.0.0.1')}:{self.port}"

    @property
    def credentials(self) -> dict[str, str]:
        """Passwords of `demo` and `admin` by user name."""
        passwords: dict[str, str] = json.loads((self.data / "credentials.json").read_text())
        return passwords

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the site's processes."""
        inherited = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
        own = {"ADK_DATA_DIR": str(self.data), "PORT": str(self.port), "ADK_POSTGRES_FSYNC": "off"}
        return {**inherited, **own, **self._environment}

    @property
    def output(self) -> str:
        """The terminal output so far."""
        with self._changed:
            return "".join(self._lines)

    @property
    def pids(self) -> dict[str, int]:
        """Process ids of `web`, `worker`, `jobs` and `beat` by name."""
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
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def start(self) -> None:
        """Start the site; return when all its processes are ready."""
        self.launch()
        self.wait_for(READY, START_SECONDS)

    def wait_for(self, text: str, seconds: float, times: int = 1) -> None:
        """Wait until the output has `text` so many times; fail with it after `seconds` or when the site ends."""
        with self._changed:
            self._changed.wait_for(
                lambda: "".join(self._lines).count(text) >= times or self.has_ended, seconds
            )
        assert self.output.count(text) >= times, f"{text!r} is missing in the output:\n{self.output}"

    @property
    def has_ended(self) -> bool:
        return self._lines[-1:] == [""]

    def wait(self) -> int:
        """Wait until the site has ended; return its exit code."""
        code = self.process.wait(STOP_SECONDS)
        self._reader.join(STOP_SECONDS)
        return code

    def interrupt(self) -> int:
        """Send SIGINT to the whole process group, as Ctrl-C does; return the exit code."""
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
        """Return every live process of this site: children, orphans and embedded servers."""
        return [process for process in psutil.process_iter() if self._owns(process)]

    def kill(self) -> None:
        """Kill all processes with SIGKILL, the embedded servers too."""
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

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._append_line(line)
        self._append_line("")  # marks the end

    def _append_line(self, line: str) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()

    def _owns(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            words = " ".join([*process.cmdline(), process.environ().get("ADK_DATA_DIR", "")])
        except psutil.Error:
            return False
        return str(self.data) in words or str(socket_dir(self.data)) in words
