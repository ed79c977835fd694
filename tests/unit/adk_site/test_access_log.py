"""The access log of the web process holds neither queries nor secrets of addresses."""

from __future__ import annotations

from io import StringIO

import pytest
from daphne import cli

from adk_site.daphne import mask_access_log

KEY = "adk_" + "x" * 43


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/api/v1/me", "/api/v1/me"),
        ("/chats/?q=my+illness", "/chats/"),
        (f"/api/v1/me?api_key={KEY}", "/api/v1/me"),
        ("/a/password%3Dhunter2/", "/a/password=[masked]"),
        (f"/a/{KEY}%0a%22", "/a/[masked]%0A%22"),
        ("/a/%0a%22", "/a/%0a%22"),
    ],
)
def test_a_line_has_the_masked_path_only(address: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "AccessLogGenerator", cli.AccessLogGenerator)
    mask_access_log()
    log = StringIO()
    write = cli.AccessLogGenerator(log)
    details = {"client": "203.0.113.7:5", "path": address, "method": "GET", "status": 200, "size": 3}
    write("http", "complete", details)
    write("websocket", "connected", details)
    http, websocket = log.getvalue().splitlines()
    assert f'"GET {shown}" 200 3' in http
    assert f'"WSCONNECT {shown}" - -' in websocket
