"""Fixtures of the browser tests: a site with a scripted model, and tabs of signed-in users that must not fail."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, StorageState, expect, sync_playwright

from tests.browser.adk_web import find_adk_web
from tests.browser.chat_page import ChatPage
from tests.browser.model import Model
from tests.browser.outside.service import Service
from tests.stack.outages import Web
from tests.stack.stack import Stack

CHROMIUM = ("chromium-headless-shell", "chromium")
"""Names of the program. The first opens a page with a sixth of the CPU time, because it has no window to draw."""
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EXPECT_MILLISECONDS = 15_000
PERSON, STAFF = "demo", "admin"


class OpenTab(Protocol):
    """Open a tab of a signed-in user; all tabs of a user share a browser context."""

    def __call__(self, name: str = PERSON) -> ChatPage: ...


@pytest.fixture(scope="package", autouse=True)
def expect_timeout() -> None:
    """Raise Playwright's timeout, so that a busy machine fails no test."""
    expect.set_options(timeout=EXPECT_MILLISECONDS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium. It ends with this folder: asyncio allows one loop in a thread, and Playwright's stays until then."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    assert program, f"{' or '.join(CHROMIUM)} was not found: apt-get install {CHROMIUM[0]}"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=CHROMIUM_OPTIONS)
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
def adk_web(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The directory with adk-web's files; None when google-adk is not there."""
    return find_adk_web(tmp_path_factory.mktemp("adk_web"))


@pytest.fixture(scope="package")
def site(
    model: Model, service: Service, adk_web: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """The whole site; its agents ask the scripted model through the real clients."""
    outside = {"OUTSIDE_MODEL": model.url, "OUTSIDE_SERVICE": service.url}
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


@pytest.fixture
def open_tab(browser: Browser, site: Stack, signed_in: Callable[[str], StorageState]) -> Iterator[OpenTab]:
    """Function that opens tabs; fails the test if a page reports an error or sends a request to another host."""
    contexts: dict[str, BrowserContext] = {}
    tabs: list[ChatPage] = []
    urls: list[str] = []

    def open_one(name: str = PERSON) -> ChatPage:
        if name not in contexts:
            contexts[name] = browser.new_context(storage_state=signed_in(name), accept_downloads=True)
            contexts[name].on("request", lambda request: urls.append(request.url))
        tabs.append(ChatPage(contexts[name].new_page(), site.base_url))
        return tabs[-1]

    yield open_one
    for context in contexts.values():
        context.close()
    assert [error for tab in tabs for error in tab.errors] == []
    assert [url for url in urls if not url.startswith((f"{site.base_url}/", "data:", "blob:"))] == []


@pytest.fixture
def chat(open_tab: OpenTab) -> ChatPage:
    """A tab with a new chat of the demo user."""
    return open_tab().open_new_chat()


@pytest.fixture
def staff_chat(open_tab: OpenTab) -> ChatPage:
    """A tab with a new chat of a staff user, who sees details."""
    return open_tab(STAFF).open_new_chat()
