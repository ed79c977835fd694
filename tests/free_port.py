"""Ports for the servers of tests."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

FIRST, END = 10_000, 32_768
"""Below the ports that Linux gives to outgoing connections (32768 and more), which take one before a server listens."""


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens."""
    while True:
        port = FIRST + secrets.randbelow(END - FIRST)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
