"""Contract: earlier versions of a message or an answer can be returned to, and every tab follows (contract R3)."""

import json
import re

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_edit import edit, order_turns, session_state, talk
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def versions_of(tab: ChatPage, text: str) -> Locator:
    """Return the switch under the message with this text."""
    message = tab.log.locator("article.person").filter(has_text=text)
    return message.get_by_role("group", name="Versions of this message")


def turn_to(tab: ChatPage, text: str, direction: str) -> None:
    """Press a button of the switch under the message with this text by keyboard."""
    versions_of(tab, text).get_by_role("button", name=f"{direction} version").press("Enter")


def test_versions_come_back_with_their_answers_state_and_files_in_every_tab(
    staff_chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    chat = staff_chat  # Staff see the state.
    transfer = Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})])
    answers = [Turn(text=[text]) for text in ("You are welcome.", "Goodbye then.", "Still order 1002.")]
    model.play(transfer, *order_turns(1001), *order_turns(1002), *answers)
    other = open_tab(STAFF)
    other.open(chat.page.url)
    talk(chat, "Look up 1001", "Look up 1002")
    first = chat.log_entries()
    edit(chat, "Look up 1002", "Thank you", answer="You are welcome.")
    edit(chat, "Thank you", "Goodbye", answer="Goodbye then.")
    for tab in (chat, other):
        expect(versions_of(tab, "Goodbye")).to_contain_text("Version 3 of 3")
        expect(versions_of(tab, "Goodbye").get_by_role("button", name="Next version")).to_be_disabled()
        expect(tab.log.get_by_role("group", name="Versions of this message")).to_have_count(1)

    turn_to(chat, "Goodbye", "Previous")
    expect(chat.messages).to_have_text(["Look up 1001", "Thank you"])
    back = versions_of(chat, "Thank you").get_by_role("button", name="Previous version")
    expect(back).to_be_focused()
    back.press("Enter")
    for tab in (chat, other):
        expect(tab.messages).to_have_text(["Look up 1001", "Look up 1002"])
        expect(tab.answers).to_have_text(["This was order 1001.", "This was order 1002."])
        expect(tab.files).to_have_text(["invoice-1001.csv", "invoice-1002.csv"])
        expect(session_state(tab)).to_have_text(["order1002"])
        expect(versions_of(tab, "Look up 1002")).to_contain_text("Version 1 of 3")
    # At the first version, the focus moves to the button that can still be pressed.
    expect(versions_of(chat, "Look up 1002").get_by_role("button", name="Next version")).to_be_focused()
    live = chat.log_entries()
    other.expect_entries(live)
    assert [entry[0] for entry in live] == [entry[0] for entry in first]
    for tab in (chat, other):
        tab.reload()
        expect(versions_of(tab, "Look up 1002")).to_contain_text("Version 1 of 3")
        tab.expect_entries(live)
        expect(session_state(tab)).to_have_text(["order1002"])

    other.send("Which one?")
    for tab in (chat, other):
        tab.wait_for_answer("Still order 1002.")
    request = json.dumps(model.requests()[-1]["body"])
    assert "looked up last: 1002" in request and "Goodbye" not in request and "Thank you" not in request


@pytest.mark.forwarded
def test_a_tab_that_was_disconnected_shows_the_version_after_the_reconnect(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(*(Turn(text=[f"{word} answered."]) for word in ("Alpha", "Beta", "Gamma", "Delta")))
    talk(chat, "Alpha")
    away = open_tab()
    away.open(chat.page.url)
    away.connection.cut()
    expect(away.status).to_have_text("Reconnecting…")
    edit(chat, "Alpha", "Beta", answer="Beta answered.")
    chat.send("Gamma")
    chat.wait_for_answer("Gamma answered.")
    chat.wait_until_idle()
    turn_to(chat, "Beta", "Previous")
    expect(chat.messages).to_have_text(["Alpha"])
    chat.send("Delta")
    chat.wait_for_answer("Delta answered.")
    away.connection.restore()
    for tab in (chat, away):
        expect(tab.messages).to_have_text(["Alpha", "Delta"])
        expect(tab.answers).to_have_text(["Alpha answered.", "Delta answered."])
        expect(versions_of(tab, "Alpha")).to_contain_text("Version 1 of 2")
    away.expect_entries(chat.log_entries())


@pytest.mark.forwarded
def test_a_regenerated_answer_is_a_version_and_a_switch_waits_for_the_end_of_an_answer(
    chat: ChatPage, model: Model
) -> None:
    turns = [Turn(text=["One."]), Turn(text=["Two."]), Turn(text=["Three ", "done."], hold_before=[1])]
    turns.append(Turn(text=["Four."]))
    model.play(*turns)
    talk(chat, "Hello")
    chat.log.get_by_role("button", name="Regenerate the answer").click()
    expect(chat.box).to_be_focused()
    chat.wait_for_answer("Two.")
    chat.wait_until_idle()
    chat.send("More")
    expect(chat.growing).to_have_text("Three ")
    turn_to(chat, "Hello", "Previous")
    expect(chat.page.get_by_role("alert")).to_contain_text("An answer is being written in this chat.")
    model.release()
    chat.wait_for_answer("Three done.")
    edit(chat, "More", "Else", answer="Four.")
    expect(versions_of(chat, "Else")).to_contain_text("Version 2 of 2")
    expect(chat.box).to_be_focused()  # nothing is left of the refused switch
    turn_to(chat, "Hello", "Previous")
    expect(chat.answers).to_have_text(["One."])
    turn_to(chat, "Hello", "Next")
    expect(chat.answers).to_have_text(["Two.", "Four."])
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    turn_to(chat, "Hello", "Previous")
    expect(chat.page.get_by_role("alert")).to_have_text("There is no connection. Try again.")


def test_a_version_is_shown_together_with_its_switch(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Alpha answered."]), Turn(text=["Beta answered."]))
    talk(chat, "Alpha")
    edit(chat, "Alpha", "Beta", answer="Beta answered.")
    expect(versions_of(chat, "Beta")).to_contain_text("Version 2 of 2")
    held: list[Route] = []
    chat.page.route("**/alternatives/", lambda route: held.append(route))
    with chat.page.expect_response(re.compile(r"/events/\?before=")) as older:
        turn_to(chat, "Beta", "Previous")
    older.value.finished()
    while not held:
        chat.page.wait_for_timeout(20)
    chat.page.evaluate("new Promise(requestAnimationFrame)")  # The page has read the response.
    assert chat.messages.filter(has_text="Alpha").count() == 0
    for route in held:
        route.continue_()
    chat.page.unroute("**/alternatives/")
    expect(versions_of(chat, "Alpha")).to_contain_text("Version 1 of 2")


def test_a_version_of_a_message_far_up_comes_back_whole(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    steps = [Turn(calls=[Call(name="show_profile", args={})])] * 40
    model.play(Turn(text=["One."]), *steps, Turn(text=["Two."]), Turn(text=["Three."]))
    talk(chat, "First", "Second")
    whole = len(chat.log_entries())
    edit(chat, "First", "Third", answer="Three.")
    other = open_tab()
    other.open(chat.page.url)
    turn_to(chat, "Third", "Previous")
    for tab in (chat, other):
        expect(tab.answers.last).to_have_text("Two.")
    expect(chat.messages).to_have_text(["First", "Second"])
    expect(versions_of(chat, "First")).to_contain_text("Version 1 of 2")
    assert len(chat.log_entries()) == whole
    other.page.evaluate("scrollTo(0, 0)")  # loads earlier messages
    expect(other.messages).to_have_text(["First", "Second"])
    expect(versions_of(other, "First")).to_contain_text("Version 1 of 2")
    other.expect_entries(chat.log_entries())


def test_a_failure_that_comes_back_can_be_tried_again_and_another_one_stays_away(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    failure = Turn(block_reason="SAFETY")
    model.play(Turn(text=["One."]), failure, failure, Turn(text=["Two."]))
    talk(chat, "First")
    for text, begin in (("Second", chat.send), ("Third", lambda text: edit(chat, "Second", text))):
        begin(text)
        expect(chat.messages.last).to_have_text(text)
        expect(chat.retry_button).to_be_visible()
    turn_to(chat, "Third", "Previous")
    expect(chat.messages).to_have_text(["First", "Second"])
    other = open_tab()
    other.open(chat.page.url)
    for tab in (chat, other):
        expect(tab.retry_button).to_be_visible()
        expect(tab.messages).to_have_text(["First", "Second"])
        expect(tab.errors_shown).to_have_count(1)
    other.retry_button.press("Enter")
    for tab in (chat, other):
        expect(tab.answers).to_have_text(["One.", "Two."])
        expect(tab.retry_button).to_have_count(0)
