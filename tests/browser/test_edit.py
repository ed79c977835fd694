"""Contract: an edited message replaces the old one and everything after it, in every tab (contract R3)."""

import json

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]
MANY_CALLS = 30


def edit_button(tab: ChatPage, text: str) -> Locator:
    """Return the edit button of the message with this text."""
    message = tab.log.locator("article.person").filter(has_text=text)
    return message.get_by_role("button", name="Edit this message")


def begin_edit(tab: ChatPage, text: str) -> None:
    """Begin to edit the message with this text by keyboard."""
    edit_button(tab, text).press("Enter")
    expect(tab.box).to_have_value(text)
    expect(tab.box).to_be_focused()


def edit(tab: ChatPage, old: str, new: str, *, answer: str = "") -> None:
    """Edit a message by keyboard; with an answer, wait until it is complete."""
    begin_edit(tab, old)
    tab.send(new)
    if answer:
        tab.wait_for_answer(answer)
        tab.wait_until_idle()


def session_state(tab: ChatPage) -> Locator:
    """Return the entries of the session's state, without the user state, which other chats may have written."""
    return tab.known_state.locator("dl > div:not([data-key^='user:'])")


def order_turns(number: int) -> list[Turn]:
    """Return the model's turns that look up an order, which sets state and writes a file, and then answer."""
    calls = [Call(name=name, args={"order_number": number}) for name in ("order_status", "write_invoice")]
    return [Turn(calls=calls), Turn(text=[f"This was order {number}."])]


def talk_with_many_calls(chat: ChatPage, model: Model) -> None:
    """Send "First" and "Second", whose answer has so many calls that "First" is on an earlier page of the log."""
    calls = [Turn(calls=[Call(name="show_profile", args={})])] * MANY_CALLS
    model.play(Turn(text=["One."]), *calls, Turn(text=["Two.\n\n" + "- One\n" * 300]), Turn(text=["Three."]))
    talk(chat, "First")
    chat.send("Second")
    for number in range(MANY_CALLS):
        expect(chat.tool("show_profile").nth(number)).to_be_attached()
    chat.wait_for_answer("Two.")
    chat.wait_until_idle()


def talk(chat: ChatPage, *texts: str) -> None:
    """Send the messages one by one, and wait for each answer."""
    for number, text in enumerate(texts, start=1):
        chat.send(text)
        expect(chat.answers).to_have_count(number)
        chat.wait_until_idle()


def test_an_edited_message_replaces_the_old_one_in_every_tab(
    staff_chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    chat = staff_chat  # Staff see the state.
    transfer = Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})])
    answers = [Turn(text=[text]) for text in ("And more.", "You are welcome.", "From the beginning.")]
    model.play(transfer, *order_turns(1001), *order_turns(1002), *answers)
    other = open_tab(STAFF)
    other.open(chat.page.url)
    talk(chat, "Look up 1001", "Look up 1002", "And now?")
    expect(other.answers).to_have_count(3)
    expect(other.files).to_have_text(["invoice-1001.csv", "invoice-1002.csv"])
    second = chat.files.nth(1).get_attribute("href")

    edit(chat, "Look up 1002", "Thank you")
    for tab in (chat, other):
        expect(tab.messages).to_have_text(["Look up 1001", "Thank you"])
        expect(tab.answers).to_have_text(["This was order 1001.", "You are welcome."])
        tab.wait_until_idle()
        expect(tab.files).to_have_text(["invoice-1001.csv"])
        expect(session_state(tab)).to_have_text(["order1001"])
    live = chat.log_entries()
    other.expect_entries(live)
    request = json.dumps(model.requests()[-1]["body"])
    assert "looked up last: 1001" in request and "Look up 1002" not in request
    assert second is not None
    latest = chat.address(second.split("?")[0])
    assert chat.page.request.get(latest).body() == b""  # the rewind adds an empty version
    for tab in (chat, other):
        tab.reload()
        tab.expect_entries(live)
        expect(session_state(tab)).to_have_text(["order1001"])

    edit(other, "Look up 1001", "Hello")
    for tab in (chat, other):
        tab.wait_for_answer("From the beginning.")
        expect(tab.messages).to_have_text(["Hello"])
        expect(session_state(tab)).to_have_count(0)
    chat.reload()
    chat.expect_entries(other.log_entries())
    expect(session_state(chat)).to_have_count(0)


def test_a_message_after_a_stopped_answer_and_a_failed_one_is_edited(chat: ChatPage, model: Model) -> None:
    stopped, failed = Turn(text=["One ", "two."], hold_before=[1]), Turn(block_reason="SAFETY")
    model.play(stopped, failed, Turn(text=["Three."]), Turn(text=["Four."]))
    chat.send("Stop this")
    expect(chat.growing).to_have_text("One ")
    chat.stop_button.click()
    chat.wait_until_idle()
    model.release()
    chat.send("Fail")
    expect(chat.retry_button).to_be_visible()
    chat.send("Last")
    chat.wait_for_answer("Three.")
    chat.wait_until_idle()
    edit(chat, "Last", "Last again", answer="Four.")
    expect(chat.messages).to_have_text(["Stop this", "Fail", "Last again"])
    expect(chat.marks).to_have_text(["Stopped"])
    expect(chat.errors_shown).to_have_count(1)


@pytest.mark.forwarded
def test_a_tab_that_was_disconnected_shows_the_same_log_after_the_reconnect(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    words = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
    model.play(*(Turn(text=[f"{word} answered."]) for word in words))
    talk(chat, "Alpha", "Beta")
    away = open_tab()
    away.open(chat.page.url)
    away.connection.cut()
    expect(away.status).to_have_text("Reconnecting…")
    edit(chat, "Beta", "Gamma", answer="Gamma answered.")
    edit(chat, "Alpha", "Delta", answer="Delta answered.")
    away.connection.restore()
    away.wait_for_answer("Delta answered.")
    expect(away.messages).to_have_text(["Delta"])
    away.expect_entries(chat.log_entries())
    away.send("Epsilon")
    away.wait_for_answer("Epsilon answered.")
    expect(chat.messages).to_have_text(["Delta", "Epsilon"])


def test_a_tab_that_has_not_loaded_the_edited_message_shows_the_same_log(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    steps = [Turn(calls=[Call(name="show_profile", args={})])] * 30
    model.play(Turn(text=["One."]), *steps, Turn(text=["Two."]), Turn(text=["Three."]))
    talk(chat, "First", "Second")
    other = open_tab()
    requests: list[Route] = []
    other.page.route("**/events/?before=*", lambda route: requests.append(route))
    with other.page.expect_request("**/events/?before=*"):
        other.open(chat.page.url)
    expect(other.messages).to_have_count(0)
    edit(chat, "Second", "Third")
    chat.wait_for_answer("Three.")
    requests[0].continue_()
    for tab in (chat, other):
        tab.wait_for_answer("Three.")
        expect(tab.messages).to_have_text(["First", "Third"])
        expect(tab.answers).to_have_text(["One.", "Three."])
    other.expect_entries(chat.log_entries())


def test_editing_announces_its_consequence_and_can_be_cancelled(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Hello."]))
    talk(chat, "Good morning")
    chat.box.fill("a draft")
    notice = chat.page.get_by_text("Editing: this message and everything after it will be replaced.")
    expect(notice).to_be_hidden()

    edit_button(chat, "Good morning").press("Enter")
    expect(notice).to_be_visible()
    expect(chat.box).to_have_accessible_description(
        "Editing: this message and everything after it will be replaced."
    )
    chat.box.fill("Good evening")
    chat.box.press("Escape")
    expect(notice).to_be_hidden()
    expect(chat.box).to_have_value("a draft")
    expect(edit_button(chat, "Good morning")).to_be_focused()

    edit_button(chat, "Good morning").click()
    expect(chat.box).to_have_value("Good morning")
    chat.box.fill("Good night")
    chat.reload()
    expect(notice).to_be_visible()
    expect(chat.box).to_have_value("Good night")
    chat.page.get_by_role("button", name="Cancel editing").click()
    expect(chat.box).to_have_value("a draft")
    chat.reload()
    expect(notice).to_be_hidden()
    expect(chat.box).to_have_value("a draft")
    expect(chat.messages).to_have_text(["Good morning"])


def test_an_edit_during_an_answer_is_refused_and_kept_for_a_retry(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["One."]), Turn(text=["Two ", "done."], hold_before=[1]), Turn(text=["Three."]))
    talk(chat, "First")
    begin_edit(chat, "First")
    chat.box.fill("First, again")
    other = open_tab()
    other.open(chat.page.url)
    other.send("Second")
    expect(chat.growing).to_have_text("Two ")
    chat.box.press("Enter")
    expect(chat.unsent).to_contain_text("First, again")
    expect(chat.unsent).to_contain_text("Not sent: An answer is being written")
    edit_button(chat, "Second").press("Enter")
    expect(chat.page.get_by_role("alert")).to_contain_text("Stop it or wait for it to finish, then edit.")
    expect(chat.box).to_have_value("")
    model.release()
    chat.wait_for_answer("Two done.")
    chat.wait_until_idle()
    chat.unsent.get_by_role("button", name="Retry").click()
    for tab in (chat, other):
        tab.wait_for_answer("Three.")
        expect(tab.messages).to_have_text(["First, again"])
        expect(tab.unsent).to_have_count(0)


@pytest.mark.forwarded
def test_an_edit_whose_connection_drops_is_sent_once(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["One."]), Turn(text=["Two."]))
    talk(chat, "First")
    begin_edit(chat, "First")
    chat.connection.silence()
    chat.send("Second")
    chat.connection.cut()
    expect(chat.unsent).to_contain_text("Second")
    chat.connection.restore()
    chat.wait_for_answer("Two.")
    expect(chat.messages).to_have_text(["Second"])
    expect(chat.unsent).to_have_count(0)
    chat.reload()
    expect(chat.messages).to_have_text(["Second"])


def test_an_edit_of_a_message_that_is_gone_becomes_a_new_message_with_a_notice(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["One."]), Turn(text=["Two."]), Turn(text=["Three."]))
    talk(chat, "First")
    other = open_tab()
    other.open(chat.page.url)
    begin_edit(other, "First")
    other.box.fill("Mine")
    edit(chat, "First", "Yours")
    expect(other.page.get_by_role("alert")).to_contain_text("will be sent as a new message")
    other.wait_for_answer("Two.")
    other.wait_until_idle()
    expect(other.box).to_have_value("Mine")
    other.box.press("Enter")
    for tab in (chat, other):
        tab.wait_for_answer("Three.")
        expect(tab.messages).to_have_text(["Yours", "Mine"])


def test_a_confirmation_that_was_answered_after_the_edited_message_is_open_again(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
        Turn(text=["First decide."]),
        Turn(text=["It is not refunded."]),
        Turn(text=["As you like."]),
        Turn(text=["It is not refunded after all."]),
    )
    chat.send("Refund order 1001")
    question = chat.log.get_by_role("region", name="Approval: Refund order 1001")
    expect(question).to_be_visible()
    chat.wait_until_idle()
    chat.send("What does it cost?")
    chat.wait_for_answer("First decide.")
    chat.wait_until_idle()
    question.get_by_role("button", name="Reject").click()
    chat.wait_for_answer("It is not refunded.")
    chat.wait_until_idle()
    edit(chat, "What does it cost?", "How long does it take?", answer="As you like.")
    expect(question).not_to_contain_text("Rejected")
    other = open_tab()
    other.open(chat.page.url)
    other.expect_entries(chat.log_entries())
    question.get_by_role("button", name="Reject").click()
    for tab in (chat, other):
        tab.wait_for_answer("It is not refunded after all.")
        tab.wait_until_idle()
    other.expect_entries(chat.log_entries())


def test_an_edit_of_a_message_far_up_goes_on_after_a_reload(chat: ChatPage, model: Model) -> None:
    model.play(*[Turn(text=[f"Answer {number}.\n\n" + "- One\n" * 300]) for number in range(7)])
    for number in range(7):
        chat.send(f"Message {number}")
        chat.wait_for_answer(f"Answer {number}.")
        chat.wait_until_idle()
    chat.page.evaluate("scrollTo(0, 0)")
    begin_edit(chat, "Message 0")
    chat.box.fill("A better first message")
    chat.reload()
    expect(chat.box).to_have_value("A better first message")
    expect(chat.page.locator("#editing")).to_be_visible()
    expect(chat.page.locator("#notice")).to_be_hidden()


def test_an_edit_of_a_message_on_an_earlier_page_goes_on_after_a_reload(chat: ChatPage, model: Model) -> None:
    talk_with_many_calls(chat, model)
    begin_edit(chat, "First")
    chat.box.fill("A better first message")
    chat.reload()
    expect(chat.page.locator("#editing")).to_be_visible()
    expect(chat.box).to_have_value("A better first message")
    expect(chat.page.locator("#notice")).to_be_hidden()
    chat.box.press("Enter")
    chat.wait_for_answer("Three.")
    expect(chat.messages).to_have_text(["A better first message"])


def test_an_edit_goes_on_when_the_page_with_its_message_can_be_loaded_again(
    chat: ChatPage, model: Model
) -> None:
    talk_with_many_calls(chat, model)
    begin_edit(chat, "First")
    chat.box.fill("A better first message")
    chat.page.route("**/events/?before=*", lambda route: route.fulfill(status=503))
    chat.reload()
    expect(chat.page.locator("#notice")).to_contain_text("could not be loaded")
    chat.page.unroute("**/events/?before=*")
    chat.reload()
    expect(chat.page.locator("#editing")).to_be_visible()
    expect(chat.box).to_have_value("A better first message")
    assert [error for error in chat.errors if "503" not in error] == []
    chat.errors.clear()
