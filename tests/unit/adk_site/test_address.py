"""Contract: `HOST` and `PORT` say where the site of a developer listens, and what its address is."""

from __future__ import annotations

import pytest

from adk_site.dev.address import address_from_environment
from adk_site.dev.errors import StackError


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:8000/"),
        ("192.168.1.7", "http://192.168.1.7:8000/"),
        ("chat.local", "http://chat.local:8000/"),
        ("0.0.0.0", "http://127.0.0.1:8000/"),
        ("::", "http://127.0.0.1:8000/"),
        ("::1", "http://[::1]:8000/"),
    ],
)
def test_the_address_is_what_a_person_on_this_machine_types(
    monkeypatch: pytest.MonkeyPatch, host: str, url: str
) -> None:
    monkeypatch.setenv("HOST", host)
    monkeypatch.delenv("PORT", raising=False)
    assert address_from_environment().url == url


def test_a_host_that_is_not_this_machine_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "192.0.2.1")
    monkeypatch.setenv("PORT", "8123")
    with pytest.raises(StackError, match=r"^Cannot listen on HOST=192\.0\.2\.1 PORT=8123: "):
        address_from_environment().check_is_free()
