"""Fixtures of the browser tests: a site with a scripted model, and tabs of signed-in users that must not fail."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Request, StorageState, expect, sync_playwright

from tests import oauth_mcp_server
from tests.browser.adk_web import find_adk_web
from tests.browser.chat_page import ChatPage
from tests.browser.model import Model
from tests.browser.outside.service import Service
from tests.browser.program import NO_BROWSER, find_browser
from tests.noon import ZONE_AT_NOON
from tests.stack.outages import Web
from tests.stack.stack import Stack

CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",
]
EXPECT_MILLISECONDS = 15_000
PERSON, STAFF = "demo", "admin"
OWN_ADDRESS = re.compile(r"https?://(?:127\.0\.0\.1|localhost)[:/]|data:|blob:|about:|file:")
HAS_CLOCK_OF_TEST = "!String(setTimeout).includes('[native code]')"
"""True if the test has installed a clock, which all later pages of the browser context would have."""


class OpenTab(Protocol):
    """Open a tab of a signed-in user; all tabs of a user share a browser context."""

    def __call__(self, name: str = PERSON) -> ChatPage: ...


@pytest.fixture(scope="package", autouse=True)
def expect_timeout() -> None:
    """Raise Playwright's timeout, so that a busy machine fails no test."""
    expect.set_options(timeout=EXPECT_MILLISECONDS)


@pytest.fixture(scope="package")
def foreign_requests() -> list[str]:
    """Addresses of other computers that pages have asked for."""
    return []


@pytest.fixture(autouse=True)
def no_foreign_requests(foreign_requests: list[str]) -> Iterator[None]:
    """Fail the test if a page, in whichever window, asks for an address of another computer."""
    yield
    found = foreign_requests.copy()
    foreign_requests.clear()
    assert found == []


@pytest.fixture(scope="package")
def browser(foreign_requests: list[str]) -> Iterator[Browser]:
    """Chromium. It ends with this folder: asyncio allows one loop in a thread, and Playwright's stays until then."""
    found = find_browser()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            args=CHROMIUM_OPTIONS,
            executable_path=found.get("executable_path"),
            # At midnight times get a date, and in the morning tasks are due.
            env={**os.environ, "TZ": ZONE_AT_NOON},
        )

        def record(asked: Request) -> None:
            if not OWN_ADDRESS.match(asked.url):
                foreign_requests.append(asked.url)

        chromium.on("context", lambda context: context.on("request", record))
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture(scope="package")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture(scope="package")
def notes() -> Iterator[oauth_mcp_server.Service]:
    """The MCP server of the agent `notes`, which wants a sign-in."""
    with oauth_mcp_server.oauth_mcp_server() as running:
        yield running


@pytest.fixture(scope="package")
def adk_web(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The directory with adk-web's files; None when google-adk is not there."""
    return find_adk_web(tmp_path_factory.mktemp("adk_web"))


@pytest.fixture(scope="package")
def site(
    model: Model,
    service: Service,
    notes: oauth_mcp_server.Service,
    adk_web: Path | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    """The whole site; its agents ask the scripted model through the real clients."""
    outside = {"OUTSIDE_MODEL": model.url, "OUTSIDE_SERVICE": service.url, "OUTSIDE_NOTES": notes.url}
    environment = {**model.environment, **outside, "DJANGO_SETTINGS_MODULE": "tests.browser.settings"}
    environment |= {"ADK_WEB": str(adk_web or "")}
    with Stack(tmp_path_factory.mktemp("site"), environment=environment) as running:
        yield running


@pytest.fixture(scope="module")
def web(site: Stack) -> Iterator[Web]:
    """An additional web process of the site, for tests that kill it."""
    with Web(site) as running:
        yield running


@pytest.fixture(scope="package")
def signed_in(browser: Browser, site: Stack) -> Callable[[str], StorageState]:
    """Function that returns the cookies of a user, who signs in once for all tests."""
    states: dict[str, StorageState] = {}

    def cookies_of(name: str) -> StorageState:
        if name not in states:
            context = browser.new_context()
            ChatPage(context.new_page(), site.base_url).sign_in(name, site.credentials[name])
            states[name] = context.storage_state()
            context.close()
        return states[name]

    return cookies_of


@pytest.fixture(scope="package")
def kept_contexts() -> dict[str, BrowserContext]:
    """Browser context of each user. It lives as long as the browser: its cache saves the site most requests."""
    return {}


@pytest.fixture
def context_of(
    browser: Browser,
    site: Stack,
    signed_in: Callable[[str], StorageState],
    kept_contexts: dict[str, BrowserContext],
) -> Iterator[Callable[[str], BrowserContext]]:
    """Function that returns the context of a user; of earlier tests it has the cache and what pages have stored.

    Its first page stays open, for the process that draws the pages of the site: starting it takes as long as a page.
    """
    used: set[str] = set()

    def context_of_user(name: str) -> BrowserContext:
        if name not in kept_contexts:
            # The signs of a page that waits move for ever, which takes more CPU time than all else in the browser.
            kept_contexts[name] = browser.new_context(accept_downloads=True, reduced_motion="reduce")
            kept_contexts[name].new_page().goto(f"{site.base_url}/healthz")
        if name not in used:
            used.add(name)
            cookies: list[Any] = [*signed_in(name)["cookies"]]
            kept_contexts[name].add_cookies(cookies)
        return kept_contexts[name]

    yield context_of_user
    for name in used:
        context = kept_contexts[name]
        if context.pages[0].evaluate(HAS_CLOCK_OF_TEST):
            kept_contexts.pop(name).close()
            continue
        for page in context.pages[1:]:
            page.close()
        context.unroute_all()
        context.clear_permissions()
        context.clear_cookies()


@pytest.fixture
def open_tab(
    context_of: Callable[[str], BrowserContext],
    site: Stack,
    notes: oauth_mcp_server.Service,
    request: pytest.FixtureRequest,
) -> Iterator[OpenTab]:
    """Function that opens tabs; fails the test if a page reports an error or sends a request to another host."""
    tabs: list[ChatPage] = []
    urls: list[str] = []
    contexts: set[BrowserContext] = set()

    def record(asked: Request) -> None:
        urls.append(asked.url)

    def open_one(name: str = PERSON) -> ChatPage:
        context = context_of(name)
        tabs.append(ChatPage(context.new_page(), site.base_url))
        if context not in contexts:
            contexts.add(context)
            context.on("request", record)
            tabs[-1].forget_storage()
        if request.node.get_closest_marker("forwarded"):
            tabs[-1].forward()
        return tabs[-1]

    yield open_one
    for context in contexts:
        context.remove_listener("request", record)
    assert [error for tab in tabs for error in tab.errors] == []
    consent = f"{notes.url}/authorize?"  # where the person goes to sign in
    expected = (f"{site.base_url}/", "data:", "blob:", consent)
    assert [url for url in urls if not url.startswith(expected)] == []


@pytest.fixture
def chat(open_tab: OpenTab) -> ChatPage:
    """A tab with a new chat of the demo user."""
    return open_tab().open_new_chat()


@pytest.fixture
def staff_chat(open_tab: OpenTab) -> ChatPage:
    """A tab with a new chat of a staff user, who sees details."""
    return open_tab(STAFF).open_new_chat()
