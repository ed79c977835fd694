"""Contract: Markdown is rendered while it streams, block by block, and nothing changes when the answer is complete."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

ANSWER = [
    "## Two lamps\n\n",
    "The **desk** lamp:\n\n",
    "- bright\n- 12 € 💡\n\n",
    "```python\nprint('on')\n```\n\n",
    "| Lamp | Price |\n|---|---|\n| desk | 12 |\n\n",
    "That is *all",
    "*.",
]
WITHOUT_COLOURS = """
(part) => {
  const copy = part.cloneNode(true);
  for (const code of copy.querySelectorAll("pre code")) code.textContent = code.textContent;
  return copy.innerHTML;
}
"""
PLAIN = "That is *all"


def shown(part: Locator) -> str:
    """Return the HTML without colours of code, which arrive a little later."""
    html: str = part.evaluate(WITHOUT_COLOURS)
    return "".join(html.split())


def test_blocks_are_rendered_as_they_end_and_stay_as_they_are(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=ANSWER, hold_before=[3, 6]))
    chat.send("Which lamps are there?")
    rendered = chat.growing.locator(".prose")
    expect(rendered.get_by_role("heading", name="Two lamps")).to_be_visible()
    expect(chat.growing.locator(".plain-text")).to_have_text("- bright\n- 12 € 💡")  # an item may follow
    model.release()
    expect(chat.growing.locator(".plain-text")).to_have_text(PLAIN)
    expect(rendered.locator("pre")).to_have_text("print('on')\n")
    late = open_tab()
    late.open(chat.page.url)
    for tab in (chat, late):
        expect(tab.growing.locator(".plain-text")).to_have_text(PLAIN)
        expect(tab.growing.locator(".prose td")).to_have_text(["desk", "12"])
    live = shown(rendered)
    model.release()
    for tab in (chat, late):
        expect(tab.answers).to_have_count(1)
        expect(tab.growing).to_have_count(0)
        whole = shown(tab.log.locator(".agent .prose"))
        assert whole == live + "<p>Thatis<em>all</em>.</p>"
