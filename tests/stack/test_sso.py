"""Contract: with SSO_SERVER_URL people sign in with an OpenID Connect provider; an account is found by the subject."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from adk_site.embedded.paths import CHECKOUT
from tests.oidc_provider import CLIENT, Provider
from tests.stack.fleet import PASSWORD, Fleet

pytestmark = pytest.mark.stack
CSRF = re.compile(r'action="(/accounts/oidc/sso/login/)">.*?name="csrfmiddlewaretoken" value="(\w+)"')
WITHOUT_PACKAGE = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "allauth" else find(name, *rest)
import adk_site.settings
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def site(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a web process; no other process has a part in signing in."""
    environment = {
        "SSO_SERVER_URL": provider.url,
        "SSO_NAME": "Example",
        "SSO_CLIENT_ID": CLIENT,
        "SSO_CLIENT_SECRET": "secret",
        "DJANGO_SETTINGS_MODULE": "adk_site.settings",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    with Fleet(tmp_path_factory.mktemp("sso"), environment, forked=True) as fleet:
        fleet.run("python", "manage.py", "createsuperuser", "--no-input", "--username=admin", "--email=")
        fleet.start("web1")
        yield fleet.url("web1")


OpenBrowser = Callable[[], httpx.Client]


@pytest.fixture
def open_browser(site: str) -> Iterator[OpenBrowser]:
    """Return a function that opens a new browser, which the end of the test closes."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(httpx.Client(base_url=site, follow_redirects=True, timeout=30))


def sign_in(browser: httpx.Client) -> httpx.Response:
    """Press the button of the sign-in page; return the last page."""
    page = browser.get("/accounts/login/?next=/keys/").text
    assert "Sign in with Example" in page
    found = CSRF.search(page)
    assert found, page
    sent = {"csrfmiddlewaretoken": found[2], "next": "/keys/"}
    return browser.post(found[1], data=sent, headers={"referer": str(browser.base_url)})


def who(browser: httpx.Client) -> str:
    return str(browser.get("/api/v1/me").json().get("username", ""))


def test_a_person_signs_in_and_finds_the_same_account_again(
    open_browser: OpenBrowser, provider: Provider
) -> None:
    provider.claims = {"sub": "s-1", "preferred_username": "ada"}
    browser = open_browser()
    page = sign_in(browser)
    assert page.url.path == "/keys/", page.text
    assert who(browser) == "ada"
    provider.claims = {"sub": "s-1", "preferred_username": "renamed"}
    again = open_browser()
    sign_in(again)
    assert who(again) == "ada"


def test_neither_a_name_nor_a_mail_address_leads_to_the_account_of_somebody_else(
    open_browser: OpenBrowser, provider: Provider
) -> None:
    provider.claims = {
        "sub": "s-2",
        "preferred_username": "admin",
        "email": "admin@example.org",
        "email_verified": True,
    }
    browser = open_browser()
    sign_in(browser)
    assert who(browser) not in ("", "admin")
    assert browser.get("/admin/").url.path == "/admin/login/"
    provider.claims = {**provider.claims, "sub": "s-3"}
    other = open_browser()
    sign_in(other)
    assert who(other) not in ("", "admin", who(browser))


def test_two_subjects_in_one_answer_are_refused(open_browser: OpenBrowser, provider: Provider) -> None:
    provider.claims, provider.userinfo = {"sub": "s-4"}, {"sub": "s-1"}
    browser = open_browser()
    page = sign_in(browser)
    provider.userinfo = {}
    assert page.status_code == 401
    assert who(browser) == ""


def test_the_admin_has_no_pages_that_link_accounts(open_browser: OpenBrowser) -> None:
    browser = open_browser()
    browser.get("/admin/login/")
    sent = {
        "username": "admin",
        "password": PASSWORD,
        "csrfmiddlewaretoken": browser.cookies["csrftoken"],
    }
    browser.post("/admin/login/", data=sent, headers={"referer": str(browser.base_url)})
    index = browser.get("/admin/").text
    assert "/admin/auth/user/" in index and "account" not in re.findall(r'href="/admin/(\w+)', index)
    for page in ("socialaccount/socialaccount", "socialaccount/socialtoken", "account/emailaddress"):
        assert browser.get(f"/admin/{page}/").status_code == 404


def test_a_callback_that_nobody_asked_for_is_refused(open_browser: OpenBrowser, provider: Provider) -> None:
    browser = open_browser()
    for query in ("", "?code=x&state=y", "?error=access_denied", "?error=access_denied&state=%00"):
        assert browser.get(f"/accounts/oidc/sso/login/callback/{query}").status_code in (400, 401)
    assert browser.get("/accounts/oidc/other/login/").status_code == 404
    assert who(browser) == ""


def test_a_missing_package_is_named_in_one_sentence(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "ADK_DEV": "1",
        "ADK_DATA_DIR": str(tmp_path),
        "SSO_SERVER_URL": "https://a.example",
    }
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_PACKAGE], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )
    assert run.stderr.strip().endswith(
        "SSO_SERVER_URL is set, which needs the package 'django-allauth': pip install -r requirements-sso.txt"
    )
