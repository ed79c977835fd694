"""Tabs that later tests use again: a page in a new tab takes twice the CPU time of the browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Error, Page, ViewportSize

from tests.browser.chat_page import ChatPage

LASTING = (
    "add_init_script",
    "expose_binding",
    "expose_function",
    "on",
    "once",
    "route_web_socket",
    "set_extra_http_headers",
)
"""Methods of a page whose effects cannot be taken back: a tab on which a test has called one is closed."""
USUAL_SIZE: ViewportSize = {"width": 1280, "height": 720}
EMPTY = "about:blank"


class KeptTabs:
    """Tabs as new, by browser context."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._kept: dict[BrowserContext, list[ChatPage]] = {}
        self._changed: set[Page] = set()
        for name in LASTING:
            patch.setattr(Page, name, self._noted(getattr(Page, name)))

    def open(self, context: BrowserContext, base_url: str) -> ChatPage:
        """Return a kept tab of the context, or open one."""
        if kept := self._kept.get(context):
            return kept.pop()
        tab = ChatPage(context.new_page(), base_url)
        self._changed.discard(tab.page)  # its own listeners belong to the tab
        return tab

    def keep(self, tab: ChatPage) -> None:
        """Keep the tab as if it were new, or close it if that is impossible."""
        page = tab.page
        try:
            if page in self._changed or page.evaluate("sessionStorage.length"):
                raise Error("The next test would notice that the tab is not new.")
            page.unroute_all()
            page.goto(EMPTY)  # fails when the page asks whether to stay
            page.emulate_media(
                media="null", color_scheme="light", reduced_motion="reduce", forced_colors="none"
            )
            page.set_viewport_size(USUAL_SIZE)
            page.mouse.move(0, 0)  # a wheel turns where the mouse is
        except Error:
            self._changed.discard(page)
            page.close()
            return
        tab.errors.clear()
        self._kept.setdefault(page.context, []).append(tab)

    def close_others(self, context: BrowserContext) -> None:
        """Close the tabs of the context that are not kept, but not its first page."""
        kept = [tab.page for tab in self._kept.get(context, [])]
        for page in context.pages[1:]:
            if page not in kept:
                page.close()

    def forget(self, context: BrowserContext) -> None:
        """Forget the tabs of a context that ends."""
        self._kept.pop(context, None)

    def _noted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(page: Page, *arguments: Any, **named: Any) -> Any:
            self._changed.add(page)
            return method(page, *arguments, **named)

        return call
