"""Contract: a request that trickles in is ended after a time; one that goes on is not."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import daphne.server  # noqa: F401 - before anything gives Twisted a reactor
import pytest
from daphne import http_protocol
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.web.http import HTTPFactory

from adk_site.daphne import MIN_BYTES_A_MINUTE, end_slow_requests

HEAD = b"POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1000000\r\n\r\n"


class Connection:
    """Connection to Daphne, whose clock the test moves."""

    def __init__(self) -> None:
        self.clock = Clock()
        factory = http_protocol.HTTPFactory(Mock())
        self.channel: Any = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
        self.channel.callLater = self.clock.callLater
        self.transport = StringTransport()  # type: ignore[no-untyped-call]
        self.channel.makeConnection(self.transport)

    @property
    def is_open(self) -> bool:
        return not self.transport.disconnecting

    def send(self, data: bytes, seconds: float) -> None:
        """Let time pass, then send."""
        self.clock.advance(seconds)
        if self.is_open:
            self.channel.dataReceived(data)


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Connection:
    monkeypatch.setattr(http_protocol.HTTPFactory, "protocol", HTTPFactory.protocol)
    end_slow_requests()
    return Connection()


def test_headers_that_trickle_are_ended(connection: Connection) -> None:
    connection.send(b"GET / HTTP/1.1\r\n", 50)
    for _ in range(5):
        connection.send(b"X: y\r\n", 11)
        assert connection.is_open
    connection.send(b"X: y\r\n", 11)
    assert not connection.is_open


def test_a_body_that_trickles_is_ended(connection: Connection) -> None:
    connection.send(HEAD, 50)
    connection.send(b"x" * 1_000, 59)
    assert connection.is_open
    connection.send(b"x", 2)
    assert not connection.is_open


def test_a_slow_body_that_goes_on_is_taken(connection: Connection) -> None:
    connection.send(HEAD, 0)
    for _ in range(60):
        connection.send(b"x" * (MIN_BYTES_A_MINUTE // 4), 14)
        assert connection.is_open
    connection.send(b"x", 61)
    assert not connection.is_open


def test_the_time_of_the_next_request_begins_with_its_first_byte(connection: Connection) -> None:
    request = Mock()
    request.requestHeaders.getRawHeaders.return_value = None
    connection.channel.requestFactory = Mock(return_value=request)
    connection.send(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", 30)
    connection.clock.advance(600)  # the answer may take its time
    connection.channel.requestDone(connection.channel.requests[0])
    connection.send(b"GET / HTTP/1.1\r\n", 59)
    connection.send(b"Host: example.org\r\n", 59)
    assert connection.is_open
    connection.send(b"X: y\r\n", 2)
    assert not connection.is_open


def test_a_silent_connection_is_ended(connection: Connection) -> None:
    connection.clock.advance(61)
    assert not connection.is_open
