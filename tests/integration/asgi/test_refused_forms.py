"""A form that Django's CSRF check refuses: the page says what to do."""

from __future__ import annotations

import pytest
from django.test import Client

PAGE = "/accounts/login/"
FORM = {"username": "ada", "password": "secret", "csrfmiddlewaretoken": "a" * 32}


@pytest.fixture
def browser(db: None) -> Client:
    """A browser whose forms are checked."""
    return Client(enforce_csrf_checks=True)


def test_a_browser_without_cookies_reads_that_they_are_blocked(browser: Client) -> None:
    browser.get(PAGE)
    browser.cookies.clear()
    refused = browser.post(PAGE, FORM)
    assert refused.status_code == 403
    assert "Allow cookies for this site" in refused.text


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://elsewhere.example"}])
def test_an_old_form_and_that_of_another_address_are_to_be_opened_again(
    browser: Client, headers: dict[str, str]
) -> None:
    browser.get(PAGE)
    refused = browser.post(PAGE, FORM, headers=headers)
    assert refused.status_code == 403
    assert "reload the page" in refused.text
    assert "cookies" not in refused.text
