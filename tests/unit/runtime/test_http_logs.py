"""The HTTP client's log has no keys: queries and passwords of URLs are left out."""

from __future__ import annotations

import logging

import httpx2
import pytest

from runtime.http_logs import hide_secrets_of_urls


async def test_a_request_is_logged_without_the_secrets_of_its_url(caplog: pytest.LogCaptureFixture) -> None:
    hide_secrets_of_urls()
    caplog.set_level(logging.INFO, logger="httpx2")
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200))
    async with httpx2.AsyncClient(transport=transport) as client:
        await client.get("http://ada:s3cr3t@server/list?key=s3cr3t")
    assert "http://server/list" in caplog.text
    assert "s3cr3t" not in caplog.text
