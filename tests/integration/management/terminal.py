"""A pseudo-terminal in which a test types, and reads what the program shows."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from tests.forked_program import ForkServer

SECONDS = 60.0
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")


def site_environment(**further: str) -> dict[str, str]:
    """Return the environment of a process that uses the test's database and Redis."""
    url = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    own = {"DJANGO_SETTINGS_MODULE": "adk_site.settings", "DATABASE_URL": url, "PROMPT_TOOLKIT_NO_CPR": "1"}
    return {**os.environ, **own, **further}


class Terminal:
    """A command of `manage.py` on a terminal. A context manager: starts on entry; ends the command on exit."""

    def __init__(self, server: ForkServer, *arguments: str, environment: Mapping[str, str]) -> None:
        self._server = server
        self._arguments = arguments
        self._environment = {"TERM": "xterm-256color", **environment}
        self._seen = 0
        self.raw = ""

    @property
    def text(self) -> str:
        """The output without escape sequences."""
        return ESCAPES.sub("", self.raw).replace("\r", "")

    def __enter__(self) -> Terminal:
        self._end, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        files = (inner, inner, inner)
        self.process = self._server.run(
            "manage", *self._arguments, environment=self._environment, files=files, terminal=True
        )
        os.close(inner)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS)
        os.close(self._end)

    def type(self, text: str) -> None:
        """Type a text, in which `\\r` is the return key."""
        os.write(self._end, text.encode())

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal with bracketed paste does."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def expect(self, wanted: str) -> str:
        """Wait until a pattern appears in the output after the last one; return what came before it."""
        deadline = time.monotonic() + SECONDS
        while not (found := re.compile(wanted).search(self.text, self._seen)):
            assert self._read(deadline - time.monotonic()), f"{wanted!r} is missing in:\n{self.text}"
        before = self.text[self._seen : found.start()]
        self._seen = found.end()
        return before

    def leave(self) -> int:
        """Press Ctrl-D until the program ends; return its exit code. A press between two prompts is lost."""
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            self.type("\x04")
            while self._read(1.0):
                pass
        return self.process.wait(SECONDS)

    def end(self) -> int:
        """Read to the end of the program; return its exit code."""
        deadline = time.monotonic() + SECONDS
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(SECONDS)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._end], [], [], max(seconds, 0))[0]:
            return False
        try:
            chunk = os.read(self._end, 65_536)
        except OSError:  # Linux: the program has closed its end.
            return False
        self.raw += chunk.decode("utf-8", "replace")
        return bool(chunk)
