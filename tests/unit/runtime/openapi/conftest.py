"""The echo server, and a tool for one operation of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.echo_server import EchoServer


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as started:
        yield started
