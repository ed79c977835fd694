"""Start a web process and wait until it accepts connections."""

from __future__ import annotations

import socket
import sys
import time

START_SECONDS = 180.0
"""Upper bound; a start takes seconds, or most of a minute on a busy machine."""


def web_command(port: int, application: str = "adk_site.asgi:application") -> list[str]:
    """Return the command of a web process that listens on 127.0.0.1 and this port."""
    return [sys.executable, "-m", *web_program(port, application)]


def web_program(
    port: int, application: str = "adk_site.asgi:application", host: str = "127.0.0.1"
) -> list[str]:
    """Return the module that `web_command` runs, and its arguments."""
    return ["adk_site.web", "-v", "0", "-b", host, "-p", str(port), application]


def wait_until_listening(port: int, host: str = "127.0.0.1") -> None:
    """Wait until a process accepts connections on the port."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex((host, port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"no process listens on port {port} after {START_SECONDS:.0f} s")
