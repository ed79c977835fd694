"""The scripted model server in a separate process, for sites that run in processes of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from types import TracebackType
from urllib.request import urlopen

from adk_site.embedded.paths import CHECKOUT
from tests.model_server import Json, Rule, Script, Turn


class Model:
    """Handle of the model server. A context manager: starts the server on entry, stops it on exit."""

    def __enter__(self) -> Model:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.model_server"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that make a site use this model."""
        return {"GOOGLE_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": self.url, "ADK_MODEL": "gemini-2.5-flash"}

    def play(self, *turns: Turn, rules: dict[str, Turn] | None = None) -> None:
        """Start a new script.

        Args:
            *turns: Answers to the requests that match no rule, in order.
            rules: Answers by regular expression; an expression is searched in the request's last content.
        """
        script_rules = [Rule(when=when, turn=turn) for when, turn in (rules or {}).items()]
        script = Script(rules=script_rules, turns=list(turns))
        self._call("/script", script.model_dump_json())

    def release(self) -> None:
        """Continue the turn that is held."""
        self._call("/release", "")

    def requests(self) -> list[Json]:
        """Return the requests since the script started."""
        requests: list[Json] = self._call("/requests")["requests"]
        return requests

    def wait_until_asked(self, pattern: str, seconds: float = 30) -> None:
        """Wait for a request whose last content matches."""
        self._wait_until(
            lambda request: re.search(pattern, json.dumps(request["body"]["contents"][-1])), seconds
        )

    def wait_until_disconnected(self, seconds: float) -> None:
        """Wait until the client closes the connection in the middle of an answer."""
        self._wait_until(lambda request: request["disconnected"], seconds)

    def _call(self, path: str, body: str | None = None) -> Json:
        with urlopen(f"{self.url}{path}", None if body is None else body.encode()) as response:
            answer: Json = json.load(response)
            return answer

    def _wait_until(self, matches: Callable[[Json], object], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not any(matches(request) for request in self.requests()):
            assert time.monotonic() < deadline, f"no request matched: {self.requests()}"
            time.sleep(0.05)
