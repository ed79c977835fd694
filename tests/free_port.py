"""Ports for the servers of tests."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress

FIRST, END = 10_000, 32_768
"""Below the ports that Linux gives to outgoing connections (32768 and more), which take one before a server listens."""
PARTS = 16
"""Each test process has a part of the ports: seconds may pass until the server of another one listens."""

_taken: set[int] = set()


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens, and which was not returned before."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PARTS
    size = (END - FIRST) // PARTS
    while True:
        port = FIRST + number * size + secrets.randbelow(size)
        if port in _taken:
            continue
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            _taken.add(port)
            return port
