"""Contract: the first message makes a new chat; the list is searched and changed, live, by touch and keyboard."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Route, expect

from tests.browser.accessibility import PHONE, problems_on_a_phone, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

NO_DELAYED_NEWS = """
(() => {
  const begin = window.setTimeout;
  window.setTimeout = (call, delay) => (delay === 300 ? 0 : begin(call, delay));
})();
"""
"""Keeps the list of chats from being read again after news, for which it waits 300 ms."""

LIST_ANEW = """() => {
    document.querySelector("#chats .chat").dataset.before = "";
    document.getElementById("chats").dispatchEvent(new Event("change"));
}"""
"""Reads the list anew, as news of other chats do. The items of the old one have a mark."""

SHOW = 'document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))'
"""Reads the list again, as when the tab is shown."""


def unique(title: str) -> str:
    """Return a title that no other test uses: the tests share a site."""
    return f"{title} {uuid4().hex[:8]}"


def say(chat: ChatPage, text: str) -> None:
    """Send a message and wait for the end of its answer."""
    chat.send(text)
    chat.wait_for_answer("Fine.")
    chat.wait_until_idle()


@pytest.fixture(autouse=True)
def script(model: Model) -> None:
    """Each message is answered by a word."""
    model.play(rules={".": Turn(text=["Fine."])})


def test_a_new_chat_gets_its_title_without_waiting_for_more_news(chat: ChatPage) -> None:
    chat.page.add_init_script(NO_DELAYED_NEWS)
    chat.reload()
    title = unique("Lamp")
    chat.send(title)
    expect(chat.page.locator("#title")).to_have_text(title)
    expect(chat.chats.filter(has_text=title)).to_have_count(1)


@pytest.mark.parametrize("place", ["the new chat", "the home page"])
def test_a_starter_begins_a_chat_that_goes_on_at_its_own_address(chat: ChatPage, place: str) -> None:
    if place == "the home page":
        chat.page.goto(chat.base_url)
    expect(chat.page.locator("#chats [aria-current]")).to_have_count(0)
    chat.page.get_by_role("button", name="Where is order 1001?", exact=True).press("Enter")
    chat.wait_for_answer("Fine.")
    expect(chat.page).to_have_url(re.compile(r"/chat/[0-9a-f-]{36}/$"))
    expect(chat.page.locator("[aria-current] .item-title")).to_have_text("Where is order 1001?")
    expect(chat.page.locator("#hello")).to_be_hidden()
    chat.reload()
    expect(chat.messages).to_have_text(["Where is order 1001?"])


@pytest.mark.forwarded
def test_a_first_message_that_was_written_without_a_connection_is_not_lost(chat: ChatPage) -> None:
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    chat.send("Written offline")
    expect(chat.unsent).to_have_text(re.compile("Written offline.*Not sent"))
    chat.box.fill("A draft")
    chat.page.reload()
    expect(chat.unsent).to_contain_text("Written offline")
    chat.connection.restore()
    chat.wait_for_answer("Fine.")
    expect(chat.messages).to_have_text(["Written offline"])
    expect(chat.box).to_have_value("A draft")


@pytest.mark.forwarded
def test_the_home_page_says_that_it_has_no_connection_and_is_up_to_date_after_it(
    chat: ChatPage, open_tab: OpenTab
) -> None:
    with chat.page.expect_response("**/chats/?*"):  # read again as soon as the page is connected
        chat.page.goto(chat.base_url)
    outage = chat.page.get_by_text("No connection. What you see here may be out of date.")
    chat.connection.cut()
    expect(outage).to_be_visible()
    assert serious_problems_in_both_schemes(chat.page) == []
    other = open_tab().open_new_chat()
    title = unique("Made meanwhile")
    say(other, title)
    chat.connection.restore()
    expect(chat.chats.filter(has_text=title)).to_have_count(1)
    expect(outage).to_have_count(0)


def test_the_list_is_not_replaced_between_the_press_and_the_release_of_the_mouse(chat: ChatPage) -> None:
    title, lists = unique("Pressed"), "**/chats/?*"
    say(chat, title)
    options = chat.page.get_by_role("button", name=f"Options of {title}", exact=True)
    expect(options).to_be_visible()
    held: list[Route] = []
    chat.page.route(lists, lambda route: held.append(route))
    with chat.page.expect_request(lists):
        chat.page.evaluate(LIST_ANEW)
    options.hover()
    chat.page.mouse.down()
    with chat.page.expect_response(lists) as response:
        for route in held:
            route.continue_()
    response.value.finished()
    chat.page.unroute(lists)
    chat.page.evaluate("new Promise(requestAnimationFrame)")  # The page has read the response.
    chat.page.mouse.up()
    expect(chat.page.get_by_role("menuitem", name="Rename", exact=True)).to_be_visible()
    assert all(
        item.locator("svg[aria-hidden=true]").count() for item in chat.page.get_by_role("menuitem").all()
    )
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator("[data-before]")).to_have_count(0)


def test_a_list_in_which_nothing_has_changed_stays(chat: ChatPage, open_tab: OpenTab) -> None:
    title, lists = unique("Stays"), "**/chats/?*"
    say(chat, title)
    entry = chat.chats.filter(has_text=title)
    expect(entry).to_be_visible()
    same = chat.page.request.get(chat.address("/chats/?rows=1")).text()
    chat.page.route(lists, lambda route: route.fulfill(body=same, content_type="text/html"))
    chat.page.evaluate(LIST_ANEW)
    expect(chat.page.locator("[data-before]")).to_have_count(0)
    entry.evaluate("(item) => item.dataset.kept = ''")
    for _ in range(2):  # The first answer has been handled when the second comes.
        with chat.page.expect_response(lists):
            chat.page.evaluate(SHOW)
    expect(entry).to_have_attribute("data-kept", "")
    chat.page.unroute(lists)
    say(open_tab().open_new_chat(), unique("Other"))
    expect(chat.page.locator("[data-kept]")).to_have_count(0)


def test_a_chat_is_renamed_pinned_archived_and_deleted_from_its_menu(chat: ChatPage) -> None:
    title, new_title = unique("Menu test"), unique("Renamed <b>")
    say(chat, title)
    current = chat.page.locator(".chat:has([aria-current])")
    expect(current).to_contain_text(title)
    chat.page.route("**/menu.js", lambda route: route.abort())
    current.get_by_role("button").click()
    expect(chat.page.locator("#notice")).to_have_text(
        "A part of this page could not be loaded. Try again, or reload the page."
    )
    chat.page.unroute("**/menu.js")
    chat.errors.clear()  # the browser reports the failed request
    chat.choose(title, "Rename")
    chat.page.get_by_label("Title of the chat").fill(new_title)
    chat.page.keyboard.press("Enter")
    expect(chat.page.get_by_role("heading", level=1)).to_have_text(new_title)
    chat.choose(new_title, "Pin")
    expect(current).to_have_attribute("data-pinned", "")
    chat.choose(new_title, "Archive")
    expect(current).to_have_count(0)
    entry = chat.chats.filter(has_text=new_title)
    chat.page.goto(chat.address("/?archived=1"))
    chat.choose(new_title, "Unarchive")
    expect(entry).to_have_count(0)
    chat.page.goto(chat.base_url)
    chat.choose(new_title, "Delete")
    expect(entry).to_have_count(0)
    chat.page.get_by_role("button", name="Undo").press("Enter")
    expect(entry).to_have_count(1)
    chat.choose(new_title, "Delete")
    expect(entry).to_have_count(0)


def test_the_list_tells_live_what_other_chats_do(chat: ChatPage, open_tab: OpenTab, model: Model) -> None:
    say(chat, "Watcher")
    busy = open_tab()
    busy.open_new_chat()
    model.play(Turn(text=["It ", "took long."], hold_before=[1]))
    title = unique("Slow one")
    busy.send(title)
    entry = chat.chats.filter(has_text=title)
    expect(entry).to_contain_text("Answering")
    busy.page.goto("about:blank")  # nobody sees the answer
    model.release()
    expect(entry).to_contain_text("New answer")
    entry.get_by_role("link").click()
    chat.wait_for_answer("It took long.")
    chat.wait_until_connected()
    chat.page.go_back()
    expect(entry).not_to_contain_text("New answer")


def test_the_palette_leads_to_the_word_in_a_long_answer(chat: ChatPage, model: Model) -> None:
    word = unique("quince").replace(" ", "")
    lines = [f"line {number}\n\n" for number in range(90)]
    model.play(Turn(text=[*lines[:45], f"An **{word.upper()}** tree.\n\n", *lines[45:]]))
    chat.send("A long one")
    chat.wait_for_answer("line 89")
    chat.wait_until_idle()
    place = chat.log.locator("strong")
    expect(place).not_to_be_in_viewport()
    chat.page.keyboard.press("Control+k")
    chat.page.get_by_role("combobox").fill(word)
    found = chat.page.get_by_role("option").first
    expect(found).to_contain_text("A long one")
    expect(found.locator(".item-hit")).to_contain_text(f"line 44 An {word.upper()} tree. line 45")
    chat.page.keyboard.press("Enter")
    expect(place).to_be_in_viewport()
    expect(chat.log.locator("article.agent")).to_be_focused()
    marked = chat.page.evaluate("[...CSS.highlights.get('hit')].map(String)")
    assert marked == [word.upper()]
    chat.wait_until_connected()


def test_the_palette_finds_chats_and_acts_by_keyboard(chat: ChatPage) -> None:
    title = unique("Zebra")
    say(chat, title)
    chat.new_chat()
    keyboard, palette = chat.page.keyboard, chat.page.get_by_role("dialog")
    keyboard.press("Control+k")
    palette.get_by_role("combobox").fill(title.lower())
    expect(palette.get_by_role("option").first).to_contain_text(title)
    expect(palette.get_by_role("option").first).to_have_text(re.compile(r"Help desk · \d\d:\d\d"))
    palette.get_by_role("combobox").fill("")
    expect(palette.get_by_role("option").first).to_have_text("New chat")
    expect(palette.get_by_role("option", name="New chat with Questions", exact=True)).to_be_visible()
    palette.get_by_role("combobox").fill(title.lower())
    keyboard.press("Enter")  # before the options follow
    expect(chat.messages).to_have_text([title])
    chat.wait_until_connected()
    keyboard.press("Control+k")
    palette.get_by_role("combobox").fill("sett")
    expect(palette.get_by_role("option").filter(has=chat.page.locator("svg"))).to_have_text(["Settings"])
    palette.get_by_role("combobox").fill("activ")
    expect(palette.get_by_role("option").filter(has=chat.page.locator("svg"))).to_have_text(["Activity"])
    held: list[Route] = []
    chat.page.route(re.compile(r"/chats/\?q=zzz"), lambda route: held.append(route))
    palette.get_by_role("combobox").fill("zzz")
    expect(palette.get_by_text("Loading…")).to_be_visible()
    while not held:
        chat.page.wait_for_timeout(20)
    held[0].continue_()
    expect(palette.get_by_text("Nothing found.")).to_be_visible()
    palette.get_by_role("combobox").fill("delete this")
    expect(palette.get_by_role("option")).to_have_text(["Delete this chat"])
    keyboard.press("Enter")
    expect(chat.chats.filter(has_text=title)).to_have_count(0)
    expect(chat.page.get_by_role("button", name="Undo")).to_be_focused()
    for control in (chat.box, chat.page.get_by_role("button", name="Attach files")):
        expect(control).to_be_disabled()
    keyboard.press("Enter")
    chat.wait_until_connected()
    expect(chat.chats.filter(has_text=title)).to_have_count(1)
    keyboard.press("Control+k")
    palette.get_by_role("combobox").fill("yyy")
    expect(palette.get_by_text("Nothing found.")).to_be_visible()
    keyboard.press("Escape")  # once, also with a text
    expect(palette).to_be_hidden()
    chat.box.blur()
    keyboard.press("?")
    expect(palette).to_contain_text("Keyboard shortcuts")


def test_an_answer_that_asks_has_no_actions_and_a_deleted_chat_asks_nothing(
    chat: ChatPage, model: Model
) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(text=["I can do that."], calls=[Call(name="refund_order", args={"order_number": 1001})]),
    )
    title = unique("Refund 1001")
    chat.send(title)
    approve = chat.page.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    expect(chat.log.get_by_role("button", name="Copy the answer")).to_have_count(0)
    chat.choose(title, "Delete")
    expect(chat.box).to_be_disabled()
    expect(approve).to_be_hidden()
    expect(chat.log.get_by_role("button", name="Edit this message")).to_be_hidden()
    chat.page.get_by_role("button", name="Undo").press("Enter")
    expect(approve).to_be_visible()


def test_the_time_of_a_shared_chat_that_asks_is_whole(chat: ChatPage, model: Model) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
    )
    title = unique("Refund 1001")
    chat.send(title)
    expect(chat.page.get_by_role("button", name="Approve")).to_be_visible()
    chat.choose(title, "Share")
    chat.page.get_by_role("button", name="Create link").click()
    chat.page.get_by_role("button", name="Close").click()
    facts = chat.chats.filter(has_text=title).locator(".item-facts")
    expect(facts).to_contain_text("Needs you · Shared · ")
    assert facts.evaluate("(facts) => facts.scrollWidth <= facts.clientWidth")


def test_an_empty_chat_with_menu_and_palette_suits_everybody(chat: ChatPage) -> None:
    say(chat, "W" * 100)
    page = chat.page
    chat.new_chat()
    page.get_by_label("Search chats").fill("Fin")
    expect(chat.chats.first.locator("mark")).to_have_text("Fin")
    chat.chats.first.get_by_role("button").click()
    assert serious_problems_in_both_schemes(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert serious_problems_in_both_schemes(page) == []
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": PHONE["width"], "height": 420})
    chat.open_new_chat()
    assert page.evaluate("new Promise((done) => requestAnimationFrame(() => done(scrollY)))") == 0
    page.set_viewport_size(PHONE)
    for opens_list in (False, True):
        if opens_list:
            page.get_by_role("button", name="Chats", exact=True).click()
        assert problems_on_a_phone(page) == []


def test_a_chat_is_renamed_from_the_palette_where_the_list_is_hidden(chat: ChatPage) -> None:
    title, new = unique("Narrow"), unique("Renamed")
    say(chat, title)
    expect(chat.chats.filter(has_text=title)).to_have_count(1)  # The palette acts on the entry of the list.
    chat.page.set_viewport_size({"width": 400, "height": 800})
    expect(chat.page.locator("#chats")).to_be_hidden()
    chat.page.keyboard.press("Control+k")
    rename = chat.page.get_by_role("option", name="Rename this chat")
    expect(chat.page.get_by_role("option", name=title)).to_be_visible()
    chat.page.evaluate(LIST_ANEW)
    expect(chat.page.locator("[data-before]")).to_have_count(0)
    rename.click()
    field = chat.page.get_by_role("textbox", name="Title of the chat")
    expect(field).to_be_focused()
    field.fill(new)
    field.press("Enter")
    expect(chat.page.locator("#title")).to_have_text(new)


def test_text_typed_before_the_scripts_have_started_stays(chat: ChatPage) -> None:
    held: list[Route] = []
    chat.page.route("**/composer.js", lambda route: held.append(route))
    with chat.page.expect_request("**/composer.js"):
        chat.page.reload(wait_until="commit")
    chat.box.fill("Typed early")
    held[0].continue_()
    chat.wait_until_connected()
    expect(chat.box).to_have_value("Typed early")
    chat.page.unroute("**/composer.js")
    chat.reload()
    expect(chat.box).to_have_value("Typed early")


def test_letters_typed_while_the_palette_is_loaded_are_searched_for(chat: ChatPage) -> None:
    chat.box.fill("A draft")
    keyboard, palette = chat.page.keyboard, chat.page.get_by_role("dialog")
    requests: list[Route] = []
    chat.page.route("**/palette.js", lambda route: requests.append(route))
    with chat.page.expect_request("**/palette.js"):
        keyboard.press("Control+k")
    keyboard.type("archz")
    keyboard.press("Backspace")
    keyboard.press("Control+k")
    keyboard.type("i")
    keyboard.press("Enter")
    requests[0].continue_()
    expect(palette.get_by_role("combobox")).to_have_value("archi")
    keyboard.type("ved")
    expect(palette.get_by_role("option").first).to_have_text("Archived chats")
    keyboard.press("Escape")
    expect(chat.box).to_be_focused()
    expect(chat.box).to_have_value("A draft")
    expect(chat.unsent).to_have_count(0)
    keyboard.press("Control+k")
    expect(palette.get_by_role("combobox")).to_have_value("")


def test_a_message_brings_an_archived_chat_back_into_the_list(chat: ChatPage) -> None:
    title = unique("Put away")
    say(chat, title)
    entry = chat.chats.filter(has_text=title)
    chat.choose(title, "Archive")
    expect(entry).to_have_count(0)
    say(chat, "Still there?")
    expect(entry).to_have_count(1)
