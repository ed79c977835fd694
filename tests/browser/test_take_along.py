"""Contract: a person exports, prints, shares and stops sharing a chat from its menu; another person reads it."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import TOO_SMALL, TOO_WIDE, serious_problems
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


@pytest.fixture
def title(chat: ChatPage, model: Model) -> str:
    """A chat with a call and an answer; its title, which no other test uses."""
    words = f"Take along {uuid4().hex[:8]}"
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="order_status", args={"order_number": 1001})]),
        Turn(text=["It is **on its way**."]),
    )
    chat.send(words)
    chat.wait_for_answer("It is on its way.")
    chat.wait_until_idle()
    return words


def test_a_chat_is_exported_as_a_file_named_after_it(chat: ChatPage, title: str) -> None:
    chat.choose(title, "Export")
    with chat.page.expect_download() as download:
        chat.page.get_by_role("menuitem", name="Markdown").click()
    assert download.value.suggested_filename == f"{title}.md"
    text = download.value.path().read_text()
    assert title in text and "It is **on its way**." in text and "order_status" not in text
    expect(chat.page.get_by_role("menu")).to_be_hidden()
    expect(chat.status).to_have_text("Connected")


def test_the_export_is_chosen_with_the_keyboard(chat: ChatPage, title: str) -> None:
    chat.page.get_by_role("button", name=f"Options of {title}", exact=True).focus()
    chat.page.keyboard.press("Enter")
    expect(chat.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    chat.page.get_by_role("menuitem", name="Export").focus()
    chat.page.keyboard.press("Enter")
    expect(chat.page.get_by_role("menuitem", name="Markdown")).to_be_focused()
    chat.page.keyboard.press("ArrowDown")
    with chat.page.expect_download() as download:
        chat.page.keyboard.press("Enter")
    assert download.value.suggested_filename == f"{title}.json"


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_to_print_opens_in_a_tab_of_its_own_and_fits(chat: ChatPage, title: str, width: int) -> None:
    chat.choose(title, "Export")
    with chat.page.expect_popup() as popup:
        chat.page.get_by_role("menuitem", name="Page to print").click()
    printed = popup.value
    printed.wait_for_load_state()  # with its styles
    printed.set_viewport_size({"width": width, "height": 800})
    expect(printed.get_by_role("heading", level=1)).to_have_text(title)
    expect(printed.locator("strong")).to_have_text("on its way")
    assert printed.evaluate(TOO_WIDE) == [] == printed.evaluate(TOO_SMALL)
    assert serious_problems(printed) == []
    printed.evaluate("window.print = () => (document.title = 'printed')")
    printed.get_by_role("button", name="Print").click()
    expect(printed).to_have_title("printed")
    printed.emulate_media(media="print", color_scheme="dark")
    expect(printed.get_by_role("button", name="Print")).to_be_hidden()
    assert printed.evaluate("getComputedStyle(document.body).color") == "rgb(31, 32, 35)"


def test_a_shared_chat_is_read_by_another_person_until_it_is_revoked(
    chat: ChatPage, open_tab: OpenTab, model: Model, title: str
) -> None:
    invoice = Call(name="write_invoice", args={"order_number": 1001})
    model.play(Turn(calls=[invoice]), Turn(text=["Here it is."]))
    chat.send("The invoice, too")
    chat.wait_for_answer("Here it is.")
    chat.wait_until_idle()
    chat.choose(title, "Share")
    dialog = chat.page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_role("button", name="Create link").click()
    dialog = chat.page.get_by_role("dialog", name="This chat is shared")
    address = dialog.get_by_label("Link").input_value()
    item = chat.page.locator(".chat", has_text=title)
    expect(item.locator(".badge", has_text="Shared")).to_be_visible()
    assert serious_problems(chat.page) == []

    other = open_tab(STAFF)
    other.page.goto(address)
    expect(other.page.get_by_role("heading", level=1)).to_have_text(title)
    expect(other.page.locator(".said")).to_have_text([title, "The invoice, too"])
    expect(other.page.locator(".prose").first).to_have_text(re.compile("It is on its way."))
    expect(other.page.get_by_role("textbox")).to_have_count(0)
    expect(other.page.get_by_role("button")).to_have_count(0)
    assert "order_status" not in other.page.content()
    assert other.page.evaluate(TOO_WIDE) == []
    assert serious_problems(other.page) == []
    file = other.page.get_by_role("link", name="invoice-1001.csv")
    file.press("Enter")
    pane = other.page.get_by_role("dialog", name="invoice-1001.csv")
    expect(pane.get_by_role("table")).to_be_visible()
    assert serious_problems(other.page) == []
    with other.page.expect_download() as download:
        pane.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "invoice-1001.csv"
    other.page.keyboard.press("Escape")
    expect(file).to_be_focused()

    dialog.get_by_role("button", name="Stop sharing").click()
    dialog = chat.page.get_by_role("dialog", name="Share this chat")
    expect(dialog.get_by_role("button", name="Create link")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    expect(item.locator(".badge", has_text="Shared")).to_have_count(0)
    assert other.page.request.get(address).status == 404


def test_the_share_dialog_copies_the_link_and_gives_the_focus_back(chat: ChatPage, title: str) -> None:
    page = chat.page
    options = page.get_by_role("button", name=f"Options of {title}", exact=True)
    chat.choose(title, "Share")
    dialog = page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_role("button", name="Create link").press("Enter")
    dialog = page.get_by_role("dialog", name="This chat is shared")
    expect(page.locator(".chat", has_text=title).locator(".badge", has_text="Shared")).to_be_visible()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('Denied')) }")
    dialog.get_by_role("button", name="Copy link").press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("The link is selected. Copy it.")
    expect(dialog.get_by_label("Link")).to_be_focused()
    page.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text } }")
    dialog.get_by_role("button", name="Copy link").press("Enter")
    expect(dialog.get_by_role("button", name="Copied")).to_be_focused()
    expect(dialog.get_by_role("alert")).to_have_count(0)
    assert page.evaluate("copied") == dialog.get_by_label("Link").input_value()
    page.keyboard.press("Escape")
    expect(options).to_be_focused()
