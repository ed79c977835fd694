"""Contract: a long chat keeps its place when older events load; it shows hits, prints whole, and stays a small page."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

MAX_NODES = 3_000
MAX_JUMP = 3
STEPS = 90
CALLS = [Call(name="show_profile", args={})] * 2
SCROLL_UP_AND_WATCH = """
async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const rows = () => [...document.querySelectorAll("#log .tool")];
  const [button, seen] = [document.getElementById("earlier"), { jump: 0, nodes: 0 }];
  while (scrollY > 0 || !button.hidden) {
    scrollBy({ top: -250, behavior: "instant" });
    const row = rows().find((one) => one.getBoundingClientRect().top > 100) ?? rows().at(-1);
    const top = row.getBoundingClientRect().top;
    for (let count = 0; count < 6; count++) {
      await frame();
      seen.nodes = Math.max(seen.nodes, document.getElementsByTagName("*").length);
    }
    if (row.getClientRects().length) seen.jump = Math.max(seen.jump, Math.abs(row.getBoundingClientRect().top - top));
  }
  return seen;
}
"""
ROWS_IN_VIEW = """
() => [...document.querySelectorAll("#log article:not([hidden])")]
  .filter((row) => row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < innerHeight).length
"""


@pytest.fixture(scope="module")
def addresses() -> list[str]:
    """The address of the chat, which the first test makes for all."""
    return []


@pytest.fixture
def long_chat(open_tab: OpenTab, addresses: list[str], model: Model) -> ChatPage:
    """A chat of several pages of calls, two at once, so that the pages split calls from their responses."""
    chat = open_tab()
    if not addresses:
        chat.open_new_chat()
        model.play(*[Turn(calls=CALLS, text=["One more."])] * STEPS, Turn(text=["Done."]))
        chat.send("Look often")
        expect(chat.answers.filter(has_text="Done.")).to_be_visible(timeout=90_000)
        chat.wait_until_idle()
        addresses.append(chat.page.url)
    chat.open(addresses[0])
    return chat


def are_rows_in_view_shown(page: Page) -> bool:
    """True if all rows in view are shown."""
    return bool(page.evaluate(ROWS_IN_VIEW))


def test_scrolling_up_neither_jumps_nor_grows_the_page_and_loses_nothing(
    long_chat: ChatPage, model: Model
) -> None:
    page = long_chat.page
    seen = page.evaluate(SCROLL_UP_AND_WATCH)
    assert seen["jump"] <= MAX_JUMP
    assert seen["nodes"] <= MAX_NODES
    expect(long_chat.messages.filter(has_text="Look often")).to_be_in_viewport()

    model.play(Turn(text=["And again."]))
    long_chat.box.fill("Once more")
    long_chat.box.press("Enter")
    long_chat.wait_for_answer("And again.")
    expect(long_chat.answers.filter(has_text="Done.")).to_be_visible()
    assert are_rows_in_view_shown(page)
    assert page.evaluate("document.getElementsByTagName('*').length") <= MAX_NODES


def test_a_search_leads_to_the_message_that_it_has_found(long_chat: ChatPage) -> None:
    page, end = long_chat.page, long_chat.answers.filter(has_text="Done.")
    expect(end).to_be_in_viewport()
    page.get_by_label("Search chats").fill("often")
    long_chat.chats.filter(has=page.locator("mark", has_text="often")).first.get_by_role("link").click()
    found = long_chat.log.locator("article.person", has_text="Look often")
    expect(found).to_be_focused()
    expect(found).to_be_in_viewport(ratio=1)
    expect(end).not_to_be_in_viewport()
    assert serious_problems_in_both_schemes(page) == []

    long_chat.reload()
    expect(end).to_be_in_viewport()


def test_the_printed_page_has_all_rows_that_were_loaded_and_nothing_around_them(long_chat: ChatPage) -> None:
    page = long_chat.page
    page.evaluate(SCROLL_UP_AND_WATCH)
    rows = "document.querySelectorAll('#log article').length"
    shown = page.evaluate(rows)
    page.evaluate(f"addEventListener('beforeprint', () => (window.printed = {rows}))")
    page.pdf()
    assert page.evaluate("printed") > 2 * STEPS > shown
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 1120, "height": 800})
    expect(long_chat.messages.filter(has_text="Look often")).to_be_visible()
    for around in (long_chat.box, page.get_by_role("navigation"), page.get_by_role("button", name="Copy")):
        expect(around.first).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 32, 35)"
