"""Contract: code has colours, its text stays as it is, and code that takes too long does not stop the page."""

import pytest
from playwright.sync_api import Route, expect

from tests.browser.accessibility import problems_on_a_phone, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
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
FAILING_ONCE = """
() => {
  const Real = Worker;
  window.Worker = function () {
    window.Worker = Real;
    throw new Error("no worker");
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


def test_long_code_opens_beside_the_chat(chat: ChatPage, model: Model) -> None:
    long = PYTHON * 10
    model.play(Turn(text=[f"```python\n{long}```\n\n```python\n{PYTHON}```\n"]))
    chat.send("Show me")
    chat.wait_until_idle()
    button = chat.log.get_by_role("button", name="Open")
    expect(button).to_have_count(1)
    chat.log.get_by_role("button", name="Wrap").first.click()
    button.press("Enter")
    pane = chat.page.get_by_role("dialog", name="Code")
    expect(pane.get_by_role("heading", name="Code")).to_be_focused()
    expect(pane.locator("pre")).to_have_text(long)
    expect(pane.locator("code .hljs-keyword").first).to_have_text("def")
    expect(pane.get_by_role("button", name="Open")).to_have_count(0)
    expect(pane.get_by_role("button", name="Wrap")).to_have_attribute("aria-pressed", "false")
    expect(pane.locator("[data-wrap]")).to_have_count(0)
    assert serious_problems_in_both_schemes(chat.page) == []
    chat.page.keyboard.press("Escape")
    expect(pane).to_be_hidden()
    expect(button).to_be_focused()
    button.press("Enter")
    assert problems_on_a_phone(chat.page) == []
    expect(chat.page.locator("dialog:modal")).to_have_count(1)
    chat.page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_code_that_takes_too_long_stays_plain_and_the_next_block_is_coloured(
    chat: ChatPage, model: Model
) -> None:
    chat.page.evaluate(SLOW)
    model.play(Turn(text=["```python\nforever = 1\n```\n\n```python\nreturn\n```\n"]))
    chat.send("Show me")
    expect(chat.log.locator("code .hljs-keyword")).to_have_text(["return"])
    expect(chat.log.locator("pre code")).to_have_text(["forever = 1\n", "return\n"])
    expect(chat.log.locator("pre code").first.locator("span")).to_have_count(0)


def test_a_worker_that_cannot_be_started_leaves_later_blocks_their_colours(
    chat: ChatPage, model: Model
) -> None:
    chat.page.evaluate(FAILING_ONCE)
    model.play(Turn(text=["```python\npass\n```\n"]), Turn(text=["```python\nreturn\n```\n"]))
    with chat.page.expect_console_message(lambda message: "without colours" in message.text):
        chat.send("Show me")
    chat.wait_until_idle()
    chat.send("Show me more")
    expect(chat.log.locator("code .hljs-keyword").last).to_have_text("return")


def test_a_worker_that_is_slow_to_load_colours_its_first_block(open_tab: OpenTab, model: Model) -> None:
    tab = open_tab()
    tab.page.clock.install()
    tab.open_new_chat()
    held: list[Route] = []
    tab.page.context.route("**/highlight_worker*", lambda route: held.append(route))
    model.play(Turn(text=["```python\nreturn\n```\n"]))
    with tab.page.expect_request("**/highlight_worker*"):
        tab.send("Show me")
    expect(tab.log.locator("pre code")).to_have_text("return\n")
    tab.page.clock.fast_forward(10_000)
    held[0].continue_()
    expect(tab.log.locator("code .hljs-keyword")).to_have_text(["return"])
