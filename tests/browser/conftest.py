"""What browser tests share: a site that asks a scripted model, people who are signed in, a watch over every page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, StorageState, expect, sync_playwright

from tests.browser.chat_page import ChatPage
from tests.browser.model import Model
from tests.stack.stack import Stack

CHROMIUM = "/usr/bin/chromium"
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
    """Opens a tab of somebody who is signed in; all tabs of a person share a browser window."""

    def __call__(self, name: str = PERSON) -> ChatPage: ...


@pytest.fixture(scope="package", autouse=True)
def patience() -> None:
    """A busy machine is no failure."""
    expect.set_options(timeout=EXPECT_MILLISECONDS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium. It ends with this folder: asyncio allows one loop in a thread, and Playwright's stays until then."""
    assert Path(CHROMIUM).exists(), f"{CHROMIUM} was not found: apt-get install chromium"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def model() -> Iterator[Model]:
    with Model() as running:
        yield running


@pytest.fixture(scope="package")
def site(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole site, asking the scripted model through the real client."""
    settings = {"DJANGO_SETTINGS_MODULE": "tests.browser.settings"}
    with Stack(tmp_path_factory.mktemp("site"), **model.environment, **settings) as running:
        yield running


@pytest.fixture(scope="package")
def signed_in(browser: Browser, site: Stack) -> Callable[[str], StorageState]:
    """The cookies of people who have signed in, once for all tests."""
    known: dict[str, StorageState] = {}

    def cookies_of(name: str) -> StorageState:
        if name not in known:
            context = browser.new_context()
            ChatPage(context.new_page(), site.base_url).sign_in(name, site.credentials[name])
            known[name] = context.storage_state()
            context.close()
        return known[name]

    return cookies_of


@pytest.fixture
def open_tab(browser: Browser, site: Stack, signed_in: Callable[[str], StorageState]) -> Iterator[OpenTab]:
    """Opens tabs; at the end no page may have reported an error or asked another host for anything."""
    windows: dict[str, BrowserContext] = {}
    tabs: list[ChatPage] = []
    asked: list[str] = []

    def open_one(name: str = PERSON) -> ChatPage:
        if name not in windows:
            windows[name] = browser.new_context(storage_state=signed_in(name), accept_downloads=True)
            windows[name].on("request", lambda request: asked.append(request.url))
        tabs.append(ChatPage(windows[name].new_page(), site.base_url))
        return tabs[-1]

    yield open_one
    for window in windows.values():
        window.close()
    assert [error for tab in tabs for error in tab.errors] == []
    assert [url for url in asked if not url.startswith((f"{site.base_url}/", "data:", "blob:"))] == []


@pytest.fixture
def chat(open_tab: OpenTab) -> ChatPage:
    """A new chat of the person."""
    tab = open_tab()
    tab.page.goto(tab.base_url)
    tab.new_chat()
    return tab
