"""Contract: what a person tells an agent in one chat is recalled in another, until the person forgets it."""

import re

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.accessibility import TOO_SMALL, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.test_languages import OUTSIDE

pytestmark = [pytest.mark.browser, pytest.mark.stack]
PHONE: ViewportSize = {"width": 360, "height": 740}
REMEMBERED_MILLISECONDS = 40_000
"""Longest time until a sweep and a worker have taken the facts of an ended chat."""


def ask(tab: ChatPage) -> None:
    tab.open_new_chat("diary")
    tab.send("What do I like?")


def test_told_in_one_chat_recalled_in_another_forgotten_and_not_recalled(open_tab: OpenTab) -> None:
    tab = open_tab()
    page = tab.page
    tab.open_new_chat("diary")
    tab.send("I like marzipan")
    tab.wait_for_answer("I will remember that")
    told_in = tab.session_id
    page.goto(tab.address("/settings/known/"))
    entry = page.get_by_role("listitem").filter(has=page.get_by_text("I like marzipan"))
    until_remembered = expect(entry.get_by_role("textbox"))
    for _ in range(REMEMBERED_MILLISECONDS // 1_000):
        if entry.get_by_role("textbox").count():
            break
        page.wait_for_timeout(1_000)
        page.reload()
    until_remembered.to_have_value("I like marzipan")
    ask(tab)
    tab.wait_for_answer("You told me: I like marzipan.")
    expect(tab.log.locator("[data-recalled]")).to_have_text("With memories of earlier chats")
    page.goto(tab.address("/settings/"))
    page.locator("#known").get_by_role("link", name="What agents know of you").press("Enter")
    page.get_by_role("searchbox", name="Search").fill("marzi")
    page.get_by_role("searchbox", name="Search").press("Enter")
    page.wait_for_url(re.compile("marzi"))
    source = entry.get_by_role("link")
    assert f"/chat/{told_in}/?hit=1" in (source.get_attribute("href") or "")
    page.set_viewport_size(PHONE)
    assert page.evaluate(OUTSIDE) == [] and page.evaluate(TOO_SMALL) == []
    assert serious_problems_in_both_schemes(page) == []
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses
    entry.get_by_role("button", name="Forget").press("Enter")
    expect(page.get_by_role("status")).to_have_text("The memory is forgotten.")
    expect(page.get_by_role("searchbox", name="Search")).to_have_value("marzi")
    expect(entry).to_have_count(0)
    ask(tab)
    tab.wait_for_answer("I do not know that.")
    expect(tab.log.locator("[data-recalled]")).to_have_count(0)
