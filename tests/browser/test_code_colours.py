"""Contract: code has colours, its text stays as it is, and code that takes too long does not stop the page."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import ChatPage
from tests.browser.model import Model
from tests.model_server import Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

PYTHON = "def lamp(on: bool) -> str:\n    return '<b>on</b>' if on else \"off\"  # never dim\n"
SLOW = """
() => {
  const Real = Worker;
  window.Worker = class extends Real {
    postMessage(block) {
      if (!block.text.includes("forever")) super.postMessage(block);
    }
  };
}
"""


def test_code_of_a_known_language_is_coloured(chat: ChatPage, model: Model) -> None:
    answer = f"```python\n{PYTHON}```\n\n```lampish\nlamp on\n```\n\n```\nplain\n```\n"
    model.play(Turn(text=[answer]))
    chat.send("Show me")
    for _ in ("live", "after a reload"):
        expect(chat.log.locator("code .hljs-keyword")).to_have_text(["def", "return", "if", "else"])
        expect(chat.log.locator("pre code")).to_have_text([PYTHON, "lamp on\n", "plain\n"])
        chat.reload()


def test_code_that_takes_too_long_stays_plain_and_the_next_block_is_coloured(
    chat: ChatPage, model: Model
) -> None:
    chat.page.evaluate(SLOW)
    model.play(Turn(text=["```python\nforever = 1\n```\n\n```python\nreturn\n```\n"]))
    chat.send("Show me")
    expect(chat.log.locator("code .hljs-keyword")).to_have_text(["return"])
    expect(chat.log.locator("pre code")).to_have_text(["forever = 1\n", "return\n"])
    expect(chat.log.locator("pre code").first.locator("span")).to_have_count(0)
