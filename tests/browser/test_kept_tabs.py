"""A test gets a tab of an earlier test only if nothing tells it from a new one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.accessibility import PHONE
from tests.browser.conftest import OpenTab
from tests.browser.kept_tabs import USUAL_SIZE, KeptTabs

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def test_a_tab_that_can_be_made_as_new_is_used_again(open_tab: OpenTab, kept_tabs: KeptTabs) -> None:
    tab = open_tab().open_new_chat()
    tab.page.set_viewport_size(PHONE)
    tab.page.emulate_media(color_scheme="dark", media="print")
    tab.page.route("**/*", lambda route: route.abort())
    tab.errors.append("An error of this test")
    tab.page.mouse.move(200, 300)
    kept_tabs.keep(tab)
    assert kept_tabs.open(tab.page.context, tab.base_url) is tab
    tab.open_new_chat()
    assert tab.page.evaluate("innerWidth") == USUAL_SIZE["width"]
    for media in ("screen", "(prefers-color-scheme: light)", "(prefers-reduced-motion: reduce)"):
        assert tab.page.evaluate("(media) => matchMedia(media).matches", media), media
    tab.page.evaluate("addEventListener('wheel', (event) => { window.turnedAt = event.clientX; })")
    tab.page.mouse.wheel(0, 1)
    tab.page.wait_for_function("() => window.turnedAt === 0")
    assert tab.errors == []


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page.add_init_script("window.isChanged = true"),
        lambda page: page.on("dialog", lambda dialog: dialog.accept()),
        lambda page: page.evaluate("sessionStorage.choice = 'kept by the browser'"),
        lambda page: page.close(),
    ],
    ids=["script", "listener", "storage", "closed"],
)
def test_a_tab_with_what_lasts_is_closed(
    open_tab: OpenTab, kept_tabs: KeptTabs, change: Callable[[Page], object]
) -> None:
    tab = open_tab()
    tab.page.goto(tab.address("/healthz"))
    change(tab.page)
    kept_tabs.keep(tab)
    assert tab.page.is_closed()
    assert kept_tabs.open(tab.page.context, tab.base_url) is not tab
