"""Contract: a pressed control that disappears leaves the focus at a useful place, and nothing focused is covered."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import ChatPage
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

COVERED = """
() => document.activeElement.getBoundingClientRect().bottom
  - document.querySelector(".foot").getBoundingClientRect().top
"""


def test_after_approving_the_focus_stays_at_the_request(chat: ChatPage, model: Model) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
        Turn(text=["Refunded."]),
    )
    chat.send("Refund order 1001")
    request = chat.log.get_by_role("region", name="Approval: Refund order 1001")
    request.get_by_role("button", name="Approve").press("Enter")
    chat.wait_for_answer("Refunded.")
    expect(request).to_contain_text("Approved by you")
    expect(request).to_be_focused()


def test_after_trying_again_the_composer_has_the_focus_and_the_error_is_a_quiet_note(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(block_reason="SAFETY"), Turn(text=["Now it works."]))
    chat.send("Hello")
    expect(chat.errors_shown).to_have_count(1)
    chat.retry_button.press("Enter")
    chat.wait_for_answer("Now it works.")
    expect(chat.box).to_be_focused()
    expect(chat.errors_shown).to_have_count(0)
    expect(chat.marks).to_have_text([re.compile("^An attempt failed: ")])
    live = chat.log_entries()
    chat.reload()
    expect(chat.errors_shown).to_have_count(0)
    chat.expect_entries(live)


def test_new_messages_gives_the_focus_to_the_composer_and_focus_is_never_behind_it(
    chat: ChatPage, model: Model
) -> None:
    links = [f"[link {number}](https://example.org/{number})\n\n" for number in range(60)]
    model.play(Turn(text=[*links, "the end"], hold_before=[40]))
    chat.send("Many links")
    expect(chat.growing).to_contain_text("link 39")
    chat.wait_until_at_end()
    chat.page.mouse.wheel(0, -600)
    expect(chat.page.get_by_role("button", name="To the end of the chat")).to_be_visible()
    model.release()
    chat.page.get_by_role("button", name="New messages").press("Enter")
    expect(chat.box).to_be_focused()
    chat.wait_for_answer("the end")
    chat.page.evaluate("scrollTo(0, 0)")
    chat.log.get_by_role("link").first.focus()
    for _ in range(30):
        chat.page.keyboard.press("Tab")
        assert chat.page.evaluate(COVERED) <= 0


def test_an_answer_without_words_can_be_tried_again_and_a_cut_answer_continued(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=[""]), Turn(text=["One, two"], finish_reason="MAX_TOKENS"), Turn(text=["three."]))
    chat.send("Say nothing")
    expect(chat.errors_shown).to_have_text(["The model sent a response without an answer."])
    chat.retry_button.press("Enter")
    chat.wait_for_answer("One, two")
    expect(chat.marks.last).to_have_text("This answer was cut: it reached the model's limit.")
    chat.wait_until_idle()
    chat.assert_same_after_reload()
    chat.page.get_by_role("button", name="Continue").press("Enter")
    chat.wait_for_answer("three.")
    expect(chat.messages).to_have_text(["Say nothing", "Continue"])
    expect(chat.page.get_by_role("button", name="Continue")).to_have_count(0)
    expect(chat.box).to_be_focused()
