"""The model that the site under test asks: the scripted server in a process of its own."""

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
    """A context manager: the server runs on entry and is gone on exit."""

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
        """What makes a site ask this model."""
        return {"GOOGLE_API_KEY": "test", "GOOGLE_GEMINI_BASE_URL": self.url, "ADK_MODEL": "gemini-2.5-flash"}

    def play(self, *turns: Turn, rules: dict[str, Turn] | None = None) -> None:
        """Begin a new script: `rules` are told by regular expressions on the last content, `turns` played in order."""
        told = [Rule(when=when, turn=turn) for when, turn in (rules or {}).items()]
        script = Script(rules=told, turns=list(turns))
        self._ask("/script", script.model_dump_json())

    def release(self) -> None:
        """Let the held turn go on."""
        self._ask("/release", "")

    def requests(self) -> list[Json]:
        """What was asked since the script began."""
        asked: list[Json] = self._ask("/requests")["requests"]
        return asked

    def wait_until_asked(self, pattern: str, seconds: float = 30) -> None:
        """Wait until somebody asks with a last content that matches."""
        self._wait_until(
            lambda request: re.search(pattern, json.dumps(request["body"]["contents"][-1])), seconds
        )

    def wait_until_left(self, seconds: float) -> None:
        """Wait until who asks has hung up in the middle of the answer."""
        self._wait_until(lambda request: request["disconnected"], seconds)

    def _ask(self, path: str, body: str | None = None) -> Json:
        with urlopen(f"{self.url}{path}", None if body is None else body.encode()) as response:
            answer: Json = json.load(response)
            return answer

    def _wait_until(self, holds: Callable[[Json], object], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not any(holds(request) for request in self.requests()):
            assert time.monotonic() < deadline, f"That did not come, but: {self.requests()}"
            time.sleep(0.05)
