"""Daphne's own errors: programs read problem details, people a page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adk_site.daphne import _LimitedRequest


@pytest.mark.parametrize(("path", "is_problem"), [(b"/api/v1/me", True), (b"/adk/run", True), (b"/", False)])
def test_an_error_of_daphne_is_a_problem_for_programs(path: bytes, is_problem: bool) -> None:
    sent: list[Any] = []
    request = _LimitedRequest.__new__(_LimitedRequest)  # Without a connection.
    request.uri, request.handle_reply = path, sent.append
    request.basic_error(500, b"Internal Server Error", "Exception inside application.")
    start, body = sent
    assert (dict(start["headers"]).get(b"content-type") == b"application/problem+json") is is_problem
    if is_problem:
        problem = json.loads(body["body"])
        assert (start["status"], problem["status"], problem["code"]) == (500, 500, "internal")
