"""Contract: an answer can be copied, written anew and rated, and a message copied, by mouse, keyboard and touch."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

READ_CLIPBOARD = """
async (type) => {
  const [item] = await navigator.clipboard.read();
  return (await item.getType(type)).text();
}
"""
MESSAGE = "Copy *this* \u202egnp.exe\u200b" + "\nand a line" * 120
"""Long, and with hidden characters."""
MARKDOWN = "Some **bold** words\n\n```python\nprint(1)\n```\n"


def button(tab: ChatPage, name: str) -> Locator:
    return tab.log.get_by_role("button", name=name)


def test_an_answer_is_copied_as_markdown_and_as_rich_text_and_a_message_as_text(
    chat: ChatPage, model: Model
) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    model.play(Turn(text=[MARKDOWN]))
    chat.send(MESSAGE)
    chat.wait_for_answer("bold")
    button(chat, "Copy the answer").press("Enter")
    expect(chat.page.locator("#asked")).to_have_text("Copied.")
    assert chat.page.evaluate(READ_CLIPBOARD, "text/plain") == MARKDOWN
    rich = chat.page.evaluate(READ_CLIPBOARD, "text/html")
    assert "<strong>bold</strong>" in rich and "print(1)" in rich and "button" not in rich
    button(chat, "Copy this message").press("Enter")
    expect(button(chat, "Copied")).to_be_visible()
    assert chat.page.evaluate("navigator.clipboard.readText()") == MESSAGE
    expect(chat.messages).to_contain_text("\\u202egnp.exe\\u200b", use_inner_text=True)
    unfold = button(chat, f"{len(MESSAGE):,} characters")
    folded = chat.messages.bounding_box()
    unfold.press("Enter")
    expect(unfold).to_have_attribute("aria-expanded", "true")
    whole = chat.messages.bounding_box()
    assert folded and whole and folded["height"] < 300 < whole["height"]
    button(chat, "Edit this message").press("Enter")
    expect(chat.box).to_have_value(MESSAGE)
    chat.page.keyboard.press("Escape")
    model.play(Turn(text=["Another **bold** answer."]))
    button(chat, "Regenerate the answer").press("Enter")
    chat.wait_for_answer("Another bold")
    assert model.requests()[0]["body"]["contents"][-1]["parts"][0]["text"] == MESSAGE


def test_only_the_newest_answer_is_written_anew_in_every_tab(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(*(Turn(text=[text]) for text in ("One.", "Two.", "Another two.")))
    other = open_tab()
    other.open(chat.page.url)
    for text, answer in (("First", "One."), ("Second", "Two.")):
        chat.send(text)
        chat.wait_for_answer(answer)
        chat.wait_until_idle()
    expect(button(chat, "Regenerate the answer")).to_have_count(1)
    button(chat, "Regenerate the answer").dblclick()
    expect(chat.unsent).to_have_count(0)
    for tab in (chat, other):
        tab.wait_for_answer("Another two.")
        expect(tab.messages).to_have_text(["First", "Second"])
        expect(tab.answers).to_have_text(["One.", "Another two."])
    chat.assert_same_after_reload()
    bars = chat.log.locator(".agent > .actions")
    expect(bars.first).to_have_css("opacity", "0")  # until the answer is pointed at
    expect(bars.last).to_have_css("opacity", "1")


def test_a_rating_with_a_comment_survives_a_reload_and_staff_see_it(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["An answer."]))
    chat.send("Rate this")
    chat.wait_for_answer("An answer.")
    button(chat, "Bad answer").press("Enter")
    chat.page.get_by_label("Comment").fill("Not <b>true</b>")
    button(chat, "Save").press("Enter")
    expect(button(chat, "Bad answer")).to_be_focused()
    chat.reload()
    expect(button(chat, "Bad answer")).to_have_attribute("aria-pressed", "true")
    expect(button(chat, "Good answer")).to_have_attribute("aria-pressed", "false")

    staff = open_tab(STAFF)
    staff.page.goto(staff.address(f"/admin/sessions_app/session/{chat.session_id}/change/"))
    expect(staff.page.locator("#feedback")).to_contain_text("Not <b>true</b>")
    staff.page.goto(staff.address("/admin/sessions_app/feedback/"))
    expect(staff.page.locator("#result_list")).to_contain_text("Not <b>true</b>")

    button(chat, "Bad answer").click()
    expect(chat.page.get_by_label("Comment")).to_have_value("Not <b>true</b>")
    button(chat, "Withdraw").click()
    expect(button(chat, "Bad answer")).to_have_attribute("aria-pressed", "false")
    chat.reload()
    expect(button(chat, "Bad answer")).to_have_attribute("aria-pressed", "false")


def test_staff_see_what_an_answer_cost(staff_chat: ChatPage, chat: ChatPage, model: Model) -> None:
    model.play(*[Turn(text=["An answer."])] * 2)
    for tab in (staff_chat, chat):
        tab.send("Hello")
        tab.wait_for_answer("An answer.")
    expect(staff_chat.log.locator(".cost")).to_have_text(re.compile(r"^[\d,.]+ tokens"))
    expect(chat.log.locator(".cost")).to_have_text("")


def test_four_finished_calls_fold_to_one_line_live_and_after_a_reload(chat: ChatPage, model: Model) -> None:
    calls = [Turn(calls=[Call(name="show_profile", args={})])] * 6
    model.play(*calls, Turn(text=["Done."]), *calls[:3], Turn(text=["Again."]))
    chat.send("Look six times")
    chat.wait_for_answer("Done.")
    chat.wait_until_idle()
    run = button(chat, "Used 6 tools")
    expect(run).to_have_attribute("aria-expanded", "false")
    expect(chat.tool("show_profile").first).to_be_hidden()
    chat.assert_same_after_reload()
    run.press("Enter")
    expect(run).to_have_attribute("aria-expanded", "true")
    for card in chat.tool("show_profile").all():
        expect(card).to_be_visible()
    run.press("Enter")
    expect(chat.tool("show_profile").last).to_be_hidden()
    chat.send("Look three times")
    chat.wait_for_answer("Again.")
    expect(chat.tool("show_profile").last).to_be_visible()


def test_a_thumb_that_is_pressed_again_before_it_is_stored_opens_one_form(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["An answer."]))
    chat.send("Rate this")
    chat.wait_for_answer("An answer.")
    with chat.page.expect_response("**/feedback/"):
        button(chat, "Good answer").evaluate("(thumb) => { thumb.click(); thumb.click(); }")
    chat.page.get_by_label("Comment").fill("Fine")
    button(chat, "Save").press("Enter")
    expect(chat.page.get_by_label("Comment")).to_have_count(0)


def test_an_answer_is_neither_rated_nor_copied_after_signing_out(chat: ChatPage, model: Model) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    model.play(Turn(text=["An answer."]))
    chat.send("Rate this")
    chat.wait_for_answer("An answer.")
    chat.wait_until_idle()
    chat.page.evaluate("navigator.clipboard.writeText('Mine')")
    chat.page.context.clear_cookies(name="sessionid")
    button(chat, "Good answer").click()
    expect(chat.page.locator("#notice")).to_have_text("Your feedback could not be saved. Try again.")
    chat.page.get_by_role("button", name="Dismiss").click()
    expect(chat.page.locator("#notice")).to_be_hidden()
    expect(chat.box).to_be_focused()
    expect(button(chat, "Good answer")).to_have_attribute("aria-pressed", "false")
    button(chat, "Copy the answer").click()
    expect(chat.page.locator("#notice")).to_have_text("The answer could not be copied. Try again.")
    assert chat.page.evaluate("navigator.clipboard.readText()") == "Mine"
