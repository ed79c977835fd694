"""Contract: `HOST` and `PORT` decide where the development site listens and which URL it prints."""

from __future__ import annotations

import pytest

from adk_site.dev.address import StackError, address_from_environment


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
def test_the_url_can_be_opened_on_this_machine(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("HOST", host)
    monkeypatch.delenv("PORT", raising=False)
    assert address_from_environment().url == url


def test_a_host_of_another_machine_is_refused_with_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOST", "192.0.2.1")
    monkeypatch.setenv("PORT", "8123")
    with pytest.raises(StackError, match=r"^Cannot listen on HOST=192\.0\.2\.1 PORT=8123: "):
        address_from_environment().check_is_free()
