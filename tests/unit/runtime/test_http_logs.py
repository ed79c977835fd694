"""Logs and error messages have no keys: queries and passwords of URLs are left out."""

from __future__ import annotations

import logging
from types import ModuleType

import httpx
import httpx2
import pytest

from runtime.http_logs import hide_secrets_of_urls, without_secrets_of_urls


@pytest.mark.parametrize("http", [httpx2, httpx])
async def test_a_request_is_logged_without_the_secrets_of_its_url(
    http: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    hide_secrets_of_urls()
    caplog.set_level(logging.INFO, logger=http.__name__)
    transport = http.MockTransport(lambda request: http.Response(200))
    async with http.AsyncClient(transport=transport) as client:
        await client.get("http://ada:s3cr3t@server/list?key=s3cr3t")
    assert "http://server/list" in caplog.text
    assert "s3cr3t" not in caplog.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET http://ada:s3cr3t@server:80/list?key=s3cr3t failed", "GET http://server:80/list failed"),
        ("bad 'https://server?key=s3cr3t', try again", "bad 'https://server', try again"),
        ("wss://s3cr3t@server/a/b?key=s3cr3t#s3cr3t", "wss://server/a/b"),
        ("moved to /list?key=s3cr3t (302)", "moved to /list (302)"),
        ("No such file: 'what?ever'. Did you mean npx?", "No such file: 'what?ever'. Did you mean npx?"),
        ("Is and/or allowed?No: ada@example.org", "Is and/or allowed?No: ada@example.org"),
    ],
)
def test_only_the_queries_and_passwords_of_urls_are_left_out(text: str, expected: str) -> None:
    assert without_secrets_of_urls(text) == expected
