"""Contract: the pages work on a phone, by keyboard and with a screen reader, in light and dark colour schemes."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from sessions_app.rendering.markdown.extras import TITLES
from tests.browser.accessibility import (
    PHONE,
    problems_on_a_phone,
    serious_problems,
    serious_problems_in_both_schemes,
    width_in_large_letters,
)
from tests.browser.chat_page import DISTANCE_TO_END, ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

ENLARGED: ViewportSize = {"width": 320, "height": 256}
"""A window of 1280 x 1024 px whose page is enlarged to 400 %."""
LINE = 32
"""Pixels that a line of text may take, with the space around it."""
SHORTEN_FOR_A_MOMENT = """
async () => {
  const scrolled = new Promise((resolve) => addEventListener("scroll", resolve, { once: true }));
  const live = document.getElementById("live");
  live.hidden = true;
  await scrolled;
  live.hidden = false;
}
"""
"""Makes the page shorter than the person has scrolled."""
SHORTEN_BEFORE_IT_GROWS = """
async () => {
  const { style } = document.getElementById("live");
  const draw = (space) =>
    new Promise((resolve) =>
      requestAnimationFrame(() => {
        style.paddingBlockEnd = space;
        setTimeout(resolve);
      }),
    );
  document.documentElement.style.overflowAnchor = "none"; // as in Safari, and where a block is drawn anew
  for (const space of ["100px", "100px", "60px"]) await draw(space);
  style.paddingBlockEnd = "400px"; // before the scroll event of the last frame
}
"""
"""Makes the page shorter, and longer before it can hear that the browser has moved it to its new end."""
WIDE_ANSWER = (
    "| "
    + " | ".join(["a long heading"] * 9)
    + " |\n"
    + "|---" * 9
    + "|\n"
    + "| value " * 8
    + "| A lamp for a desk, with a long arm and a warm light |\n\n"
    "```text\n"
    + "x" * 300
    + "\n```\n\n"
    + "W" * 200
    + "\n\n"
    + "\n\n".join(f"> [!{kind}]\n> Mind [this](https://a.example)." for kind in TITLES)
)


def play_everything(model: Model) -> None:
    """Script an answer that adds one log entry of each kind."""
    model.play(
        Turn(thoughts=["Let me see."], calls=[Call(name="remember_name", args={"name": "N" * 150})]),
        Turn(calls=[Call(name="open_ticket", args={"problem": "P" * 150})]),
        Turn(calls=[Call(name="schedule_task", args={"task": "T" * 150, "every": "0 9 * * 1-5"})]),
        Turn(calls=[Call(name="write_report", args={"precise": True})]),
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="order_status", args={"order_number": 7})]),
        Turn(text=[WIDE_ANSWER]),
    )


@pytest.fixture
def full_chat(staff_chat: ChatPage, model: Model) -> Iterator[ChatPage]:
    chat = staff_chat  # Staff see more than others.
    play_everything(model)
    chat.send("Q" * 150 + " and everything else")
    chat.wait_for_answer("a long heading")
    chat.wait_until_idle()
    expect(chat.job("Write report").get_by_role("button", name="Approve")).to_be_visible()
    yield chat


def test_axe_finds_no_serious_violation_on_any_page(full_chat: ChatPage) -> None:
    page = full_chat.page
    full_chat.known_state.locator("summary").click()
    full_chat.schedules.locator("summary").click()
    for card in full_chat.log.locator("summary").all():
        card.click()
    assert serious_problems_in_both_schemes(page) == []
    for path in ("/", "/no-such-page"):
        page.goto(full_chat.address(path))
        assert serious_problems_in_both_schemes(page) == []
    full_chat.errors.clear()  # the browser reports the 404


def test_the_sign_in_page_suits_everybody_also_in_large_letters(browser: Browser, site: Stack) -> None:
    page = browser.new_page()
    page.goto(site.base_url)
    assert serious_problems(page) == []
    assert width_in_large_letters(page) == PHONE["width"]
    page.close()


def test_on_a_phone_nothing_overflows_and_all_controls_are_large_enough_to_touch(full_chat: ChatPage) -> None:
    page = full_chat.page
    assert width_in_large_letters(page) == PHONE["width"]
    for address in (page.url, full_chat.base_url):
        page.goto(address)
        assert (bar := page.locator("header.bar").bounding_box()) and bar["height"] < 2 * LINE
        page.evaluate(
            "document.querySelectorAll('#main details, #schedules').forEach((element) => (element.open = true))"
        )
        assert problems_on_a_phone(page) == []
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    page.get_by_role("button", name=STAFF, exact=True).click()
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)


def test_on_a_phone_names_are_whole_and_cells_have_room_for_words(full_chat: ChatPage) -> None:
    page = full_chat.page
    page.set_viewport_size(PHONE)
    outcome = full_chat.log.locator(".tool-outcome").first
    outcome.evaluate("(place) => { place.textContent = 'Interrupted; it may have had effects' }")
    for name in full_chat.log.locator(".tool-name").all():
        assert name.evaluate("(name) => name.scrollWidth <= name.clientWidth && name.clientWidth > 60")
    expect(full_chat.log.locator(".tool-brief").first).to_have_text(re.compile("Name: N+"))
    for row in full_chat.log.locator(".file-row").all():
        link, download = (row.locator(part).bounding_box() for part in (".file", ".download"))
        assert link and download and download["y"] < link["y"] + link["height"]
    heading = full_chat.log.get_by_role("columnheader").first.bounding_box()
    assert heading and heading["height"] < 2 * LINE
    cell = full_chat.log.get_by_role("cell", name="A lamp").bounding_box()
    assert cell and cell["width"] > 180


def test_in_large_letters_the_home_page_and_the_settings_fit_a_phone(open_tab: OpenTab) -> None:
    tab = open_tab()
    for path in ("/", "/settings/"):
        tab.page.goto(tab.address(path))
        assert width_in_large_letters(tab.page) == PHONE["width"]
    tab.page.goto(tab.base_url)
    assert problems_on_a_phone(tab.page) == []


def test_in_large_letters_the_composer_has_room_for_words_beside_stop_and_send(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Piece ", "by piece."], hold_before=[1]))
    chat.send("Hello")
    expect(chat.growing).to_have_text("Piece ")
    chat.box.fill("And this")
    assert width_in_large_letters(chat.page) == PHONE["width"]
    assert problems_on_a_phone(chat.page) == []
    expect(chat.stop_button).to_be_in_viewport(ratio=1)
    expect(chat.send_button).to_be_in_viewport(ratio=1)
    assert (box := chat.box.bounding_box()) and box["width"] > PHONE["width"] / 2
    model.release()
    chat.wait_for_answer("Piece by piece.")


def test_on_a_phone_the_list_of_chats_opens_over_the_page(chat: ChatPage) -> None:
    chat.page.set_viewport_size(PHONE)
    chats = chat.page.get_by_role("navigation", name="Chats")
    expect(chats).to_be_hidden()
    chat.page.get_by_role("button", name="Chats", exact=True).click()
    expect(chats).to_be_visible()
    expect(chats.get_by_role("button", name="Sign out")).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(chats).to_be_hidden()


def test_the_list_of_chats_can_be_used_in_a_low_window(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Hello."]))
    chat.send("Low window")
    chat.wait_for_answer("Hello.")
    chat.wait_until_idle()
    chat.page.set_viewport_size(ENLARGED)
    chat.page.get_by_role("button", name="Chats", exact=True).click()
    chat.choose("Low window", "Delete")
    expect(chat.chats.filter(has_text="Low window")).to_have_count(0)


def test_a_screen_reader_reads_an_answer_once_when_it_is_complete(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Piece ", "by piece."], hold_before=[1]))
    chat.send("Hello")
    expect(chat.growing).to_have_text("Piece ")
    expect(chat.log).not_to_contain_text("Piece")
    expect(chat.live).to_have_attribute("aria-live", "off")
    model.release()
    chat.wait_for_answer("Piece by piece.")


def test_the_page_follows_the_answer_only_while_its_end_is_in_view(chat: ChatPage, model: Model) -> None:
    lines = [f"line {number}\n\n" for number in range(80)]
    model.play(Turn(text=[*lines, "the end"], hold_before=[40, 60, 70]))
    chat.send("A long one")
    expect(chat.growing).to_contain_text("line 39")
    expect(chat.growing.last).to_be_in_viewport()
    chat.wait_until_at_end()
    chat.page.mouse.wheel(0, -600)
    chat.page.wait_for_function(f"() => {DISTANCE_TO_END} > 300")
    place = chat.page.evaluate("scrollY")
    to_end = chat.page.get_by_role("button", name="To the end of the chat")
    expect(to_end).to_be_visible()
    model.release()
    new_messages = chat.page.get_by_role("button", name="New messages")
    expect(new_messages).to_be_visible()
    expect(to_end).to_be_hidden()
    expect(chat.growing).to_contain_text("line 59")
    assert chat.page.evaluate("scrollY") == place
    chat.page.evaluate(SHORTEN_FOR_A_MOMENT)
    model.release()
    expect(chat.growing).to_contain_text("line 69")
    assert chat.page.evaluate(DISTANCE_TO_END) > 300
    new_messages.click()
    expect(new_messages).to_be_hidden()
    chat.page.evaluate(SHORTEN_BEFORE_IT_GROWS)
    chat.wait_until_at_end()
    model.release()
    chat.wait_for_answer("the end")
    chat.wait_until_at_end()
    expect(to_end).to_be_hidden()
    chat.page.mouse.wheel(0, -600)
    to_end.click()
    chat.wait_until_at_end()
    expect(to_end).to_be_hidden()
