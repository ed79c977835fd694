"""Contract: a request that is larger than any upload is refused before its body is read (real Daphne).

Programs read problem details.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import pytest

from sessions_app.conf import conf
from tests.benchmarks.daphne import forked_daphne
from tests.stack.database import server_variables

pytestmark = pytest.mark.stack

PIECE = bytes(2**20)
TOO_LARGE = {"error": "The request is too large. A file may have 10.0\xa0MB."}
PATH = "/chat/5c3f9a44-6f0b-4d8c-9d5e-0a8a3e1d2b11/files/"
PROGRAM_PATHS = ("/api/v1/me", "/adk/run", "/a2a/demo/")


@pytest.fixture(scope="module")
def port(django_db_setup: None) -> Iterator[int]:
    with forked_daphne("tests.stack.settings", server_variables()) as (port, _):
        yield port


def post(port: int, body: Iterable[bytes], **headers: str) -> tuple[int, bytes]:
    """Return status and body of the response."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", PATH, body, headers)
        response = connection.getresponse()
        return response.status, response.read()


def refused(port: int, path: str, header: bytes) -> tuple[int, Any]:
    """Return status and JSON of the response to a request whose body does not come."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode() + header + b"\r\n\r\n")
        response = HTTPResponse(client)
        response.begin()
        told = response.status, json.load(response)
        client.sendall(PIECE)  # which the site drops
        return told


def test_a_body_that_is_announced_as_too_large_is_refused_before_it_is_sent(port: int) -> None:
    announced = b"Content-Length: %d" % 2**40
    assert refused(port, PATH, announced) == (413, TOO_LARGE)
    for path in PROGRAM_PATHS:
        status, problem = refused(port, path, announced)
        assert (status, problem["code"], problem["detail"]) == (413, "too_large", TOO_LARGE["error"])


def test_a_body_of_unknown_length_is_refused_when_it_becomes_too_large(port: int) -> None:
    status, body = post(port, (PIECE for _ in range(64)))
    assert (status, json.loads(body)) == (413, TOO_LARGE)


def test_a_body_with_the_largest_file_reaches_the_site(port: int) -> None:
    length = conf().upload_bytes + 1_000
    assert post(port, [bytes(length)], **{"Content-Length": str(length)})[0] == 403  # has no CSRF token
    assert post(port, (PIECE for _ in range(10)))[0] == 403
