"""Contract: drafts and unsent messages outlive their tab, belong to one person, and go when the person signs out."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import PERSON, OpenTab
from tests.browser.model import Model
from tests.browser.test_uploads import file
from tests.model_server import Turn
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]


@pytest.mark.forwarded
def test_a_draft_and_an_unsent_message_outlive_their_tab(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["It came from the other tab."]))
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    chat.send("Wait for another tab")
    expect(chat.unsent).to_contain_text("Not sent")
    chat.box.fill("and a draft")
    address = chat.page.url
    chat.page.close()

    other = open_tab()
    other.open(address)
    other.wait_for_answer("It came from the other tab.")
    expect(other.messages).to_have_text(["Wait for another tab"])
    expect(other.box).to_have_value("and a draft")
    assert len(model.requests()) == 1


@pytest.mark.forwarded
def test_messages_that_one_tab_discards_are_not_sent_by_another(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["Never asked."]))
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    for text in ("Forget this", "and this", "and all"):
        chat.send(f"{text}\u202e\U000e0041" if text == "and this" else text)
    other = open_tab()
    other.connection.cut()
    other.page.goto(chat.page.url)
    expect(other.unsent).to_have_text([re.compile(text) for text in ("Forget this", "and this", "and all")])
    region = chat.page.get_by_role("group", name="Messages being sent")
    expect(region.locator(".audit-hidden")).to_have_text([r"\u202e", r"\U000e0041"])
    expect(region).to_contain_text("3 messages were not sent")
    chat.unsent.first.get_by_role("button", name="Discard").click()
    expect(region).not_to_contain_text("messages were not sent")
    chat.send("and one more")
    region.get_by_role("button", name="Discard all").click()
    expect(chat.unsent).to_have_count(0)
    expect(chat.box).to_be_focused()
    other.connection.restore()
    other.wait_until_connected()
    expect(other.unsent).to_have_count(0)
    assert model.requests() == []


def test_the_draft_of_a_new_chat_waits_for_the_next_new_chat(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["Found."]))
    chat.box.fill("Half a sentence")
    chat.page.goto(chat.base_url)
    chat.new_chat()
    expect(chat.box).to_have_value("Half a sentence")
    chat.send("A whole sentence")
    chat.box.fill("The next one")
    chat.wait_for_answer("Found.")
    other = open_tab()
    other.page.goto(other.base_url)
    other.new_chat()
    expect(other.box).to_have_value("")
    chat.reload()
    expect(chat.box).to_have_value("The next one")


@pytest.mark.forwarded
def test_the_first_message_of_a_chat_that_never_began_is_sent_by_the_next_new_chat(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["Here at last."]), Turn(text=["Another chat."]))
    address = chat.page.url
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    chat.send("Is anybody there?")
    expect(chat.unsent).to_contain_text("Not sent")
    chat.page.close()

    other = open_tab()
    other.page.goto(other.base_url)
    other.new_chat()
    other.wait_for_answer("Here at last.")
    expect(other.messages).to_have_text(["Is anybody there?"])
    expect(other.page).to_have_url(address.partition("?")[0])
    other.new_chat()
    expect(other.messages).to_have_count(0)
    assert len(model.requests()) == 1


def test_files_of_a_new_chat_wait_for_the_next_new_chat_and_are_in_no_list(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(rules={".": Turn(text=["Read."])})
    address, session = chat.page.url, chat.session_id
    chat.attach(file("notes.txt", "tea"))
    chat.box.fill("Read this")
    chat.page.close()

    other = open_tab()
    other.page.goto(other.base_url)
    entry = other.page.locator(f'#chats .chat[data-id="{session}"]')
    expect(other.page.locator("#chats .chats")).to_be_attached()
    expect(entry).to_have_count(0)
    for _ in range(2):  # also after a reload
        other.new_chat()
        expect(other.page).to_have_url(address)
        expect(other.uploads).to_have_text([re.compile("notes.txt")])
        expect(other.box).to_have_value("Read this")
    other.send_button.click()
    other.wait_for_answer("Read.")
    expect(entry).to_have_count(1)
    other.new_chat()
    expect(other.page).not_to_have_url(address)
    expect(other.uploads).to_have_count(0)


def test_signing_out_forgets_what_was_not_sent(open_tab: OpenTab, site: Stack) -> None:
    tab = open_tab()
    tab.page.context.clear_cookies()
    tab.sign_in(PERSON, site.credentials[PERSON])
    address = tab.new_chat()
    tab.box.fill("a secret draft")
    assert "a secret draft" in tab.page.evaluate("JSON.stringify(localStorage)")
    tab.page.get_by_role("button", name="Sign out").click()
    expect(tab.page.get_by_role("button", name="Sign in")).to_be_visible()
    assert tab.page.evaluate("JSON.stringify(localStorage)") == "{}"
    tab.sign_in(PERSON, site.credentials[PERSON])
    tab.open(address)
    expect(tab.box).to_have_value("")


def test_a_text_that_ends_within_a_character_is_sent(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Yes."]))
    chat.box.evaluate("(box) => box.setRangeText('Ready \\ud83d')")
    chat.box.press("Enter")
    chat.wait_for_answer("Yes.")
    expect(chat.messages).to_have_text(["Ready \ufffd"])
