"""Contract: further pages of the list of chats show what is true, and what is undone in the list is undone once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.browser.test_chats import LIST_ANEW, say, unique
from tests.model_server import Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

PAGE = 30
LIST = re.compile(r"/chats/\?")
UNDO_MILLISECONDS = 10_000
MAKE_CHATS = """async (count) => {
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    for (let made = 0; made < count; made += 1) {
        const fields = new FormData();
        fields.append("file", new File(["a"], "a.txt"));
        fields.append("csrfmiddlewaretoken", token);
        const address = `/chat/${crypto.randomUUID()}/files/?new=help_desk`;
        const response = await fetch(address, { method: "POST", body: fields });
        if (!response.ok) throw new Error(await response.text());
        fields.set("title", `Chat ${made}`);
        await fetch(address.replace("files/", "rename/"), { method: "POST", body: fields });
    }
}"""
CHANGE_CHAT = """([id, change]) => {
    const { value } = document.querySelector("[name=csrfmiddlewaretoken]");
    const body = new URLSearchParams({ csrfmiddlewaretoken: value });
    return fetch(`/chat/${id}/${change}/`, { method: "POST", body }).then((response) => response.ok);
}"""


def change(chat: ChatPage, entry: str, name: str) -> None:
    """Change a chat as another tab would; the page is told that its list has changed."""
    assert chat.page.evaluate(CHANGE_CHAT, [entry, name])


def entry_of(chat: ChatPage, id_of_chat: str) -> Locator:
    return chat.page.locator(f'#chats .chat[data-id="{id_of_chat}"]')


def test_chats_of_further_pages_go_and_come_as_they_are_changed(chat: ChatPage) -> None:
    address = chat.page.url
    chat.page.goto(chat.address("/settings/"))  # which does not draw the list for each of them
    chat.page.evaluate(MAKE_CHATS, 2 * PAGE + 5)
    with chat.page.expect_response(LIST):  # the page reads its list anew once it is connected
        chat.open(address)
    chat.page.get_by_role("link", name="Show more").click()
    unpinned = chat.page.locator("#chats .chat:not([data-pinned])")
    expect(unpinned).to_have_count(2 * PAGE)
    requests: list[str] = []
    chat.page.on("request", lambda request: requests.append(request.url))
    archived, pinned = (unpinned.nth(at).get_attribute("data-id") or "" for at in (PAGE + 10, PAGE + 20))
    change(chat, archived, "archive")
    expect(entry_of(chat, archived)).to_have_count(0)
    expect(unpinned).to_have_count(2 * PAGE)
    assert len([address for address in requests if LIST.search(address)]) == 1
    change(chat, pinned, "pin")
    expect(entry_of(chat, pinned)).to_have_attribute("data-pinned", "")
    change(chat, pinned, "unpin")
    expect(chat.page.locator(f'#chats .chat[data-id="{pinned}"]:not([data-pinned])')).to_have_count(1)
    ids = unpinned.evaluate_all("(items) => items.map((item) => item.dataset.id)")
    assert len(ids) == len(set(ids)) == 2 * PAGE
    chat.page.get_by_role("link", name="Show more").click()
    expect(unpinned.nth(2 * PAGE)).to_be_attached()


def test_two_deleted_chats_can_both_be_undone_and_the_focus_stays_on_the_page(
    open_tab: OpenTab, model: Model
) -> None:
    model.play(rules={".": Turn(text=["Fine."])})
    tab = open_tab()
    tab.page.clock.install()
    tab.page.goto(tab.base_url)
    titles = [unique("First"), unique("Second")]
    for title in titles:
        tab.new_chat()
        say(tab, title)
    # The time to undo stands still, however long the machine takes for the rest.
    tab.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    for title in reversed(titles):
        tab.choose(title, "Delete")
        expect(tab.chats.filter(has_text=title)).to_have_count(0)
    undo = tab.page.get_by_role("button", name="Undo")
    expect(undo).to_have_count(2)
    expect(undo.nth(1)).to_be_focused()
    tab.page.clock.resume()
    tab.page.keyboard.press("Enter")
    expect(tab.chats.filter(has_text=titles[0])).to_have_count(1)
    expect(undo).to_have_count(1)
    expect(undo).to_be_focused()
    address = tab.page.url
    tab.page.clock.fast_forward(UNDO_MILLISECONDS)
    expect(tab.page).not_to_have_url(address)


def test_a_deleted_chat_stays_away_though_an_older_list_arrives_and_the_focus_on_the_page(
    chat: ChatPage, model: Model
) -> None:
    model.play(rules={".": Turn(text=["Fine."])})
    title = unique("Kept")
    say(chat, title)
    chat.new_chat()
    held: list[Route] = []
    chat.page.route(LIST, lambda route: held.append(route))
    with chat.page.expect_request(LIST):
        chat.page.evaluate(LIST_ANEW)
    expect(chat.chats.filter(has_text=title)).to_have_count(1)
    older = held[0].fetch()
    chat.choose(title, "Delete")
    entry = chat.chats.filter(has_text=title)
    expect(entry).to_have_count(0)
    with chat.page.expect_response(LIST) as response:
        held[0].fulfill(response=older)
    response.value.finished()
    chat.page.evaluate("new Promise(requestAnimationFrame)")  # The page has read the response.
    expect(entry).to_have_count(0)
    chat.page.unroute(LIST)
    chat.page.get_by_role("button", name="Undo").press("Enter")
    expect(chat.page.locator("main")).to_be_focused()
