"""Contract: a reload, a second tab or a lost connection neither loses nor repeats a word."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.answer_recorder import assert_grew_without_gaps, record_answers
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.browser.test_trouble import SEEK
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

WORDS = [f"word{number} " for number in range(1, 201)]
WHOLE = "".join(WORDS).strip()
LONG = "Both 🙂 " * 5_000
"""Text that a tab which opens later gets in several frames."""

RECORD_PLACES = """
(text) => {
  window.places = [];
  const record = () => {
    const line = [...document.querySelectorAll("#log p, #live p")].find((line) => line.textContent === text);
    places.push(line ? Math.round(line.getBoundingClientRect().top) : null);
    requestAnimationFrame(record);
  };
  record();
}
"""
"""Records the place of a paragraph in the window, in each frame that the browser draws."""


def read_earlier_lines(chat: ChatPage) -> None:
    """Ask for a long answer and scroll up in its first 60 lines. From now on the page records the place of a line."""
    chat.send("A long one")
    expect(chat.growing).to_contain_text("line 59")
    chat.wait_until_at_end()
    chat.page.mouse.wheel(0, -900)
    expect(chat.growing.get_by_text("line 35", exact=True)).to_be_in_viewport()
    chat.page.evaluate(RECORD_PLACES, "line 35")


def words_until(number: int) -> str:
    return "".join(WORDS[:number]).strip()


def test_a_reload_in_the_middle_shows_every_word_once_at_every_moment(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=WORDS, hold_before=[30, 60], pause=0.002))
    chat.send("Count")
    expect(chat.growing).to_have_text(words_until(30))
    record_answers(chat.page)
    chat.reload()
    expect(chat.messages).to_have_text(["Count"])
    expect(chat.growing).to_have_text(words_until(30))
    expect(chat.stop_button).to_be_visible()
    model.release()
    expect(chat.growing).to_have_text(words_until(60))
    model.release()
    chat.wait_for_answer(WHOLE)
    chat.wait_until_idle()

    assert_grew_without_gaps(chat.page, WHOLE)
    expect(chat.answers).to_have_text([WHOLE])
    expect(chat.errors_shown).to_have_count(0)
    chat.assert_same_after_reload()


def test_a_second_tab_sees_the_message_and_the_words_as_they_come(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=[LONG, "see ", "this."], hold_before=[1, 2]), Turn(text=["And this."]))
    other = open_tab()
    other.open(chat.page.url)
    chat.send("Hello from here")
    expect(other.messages).to_have_text(["Hello from here"])
    expect(other.growing).to_have_text(LONG)
    expect(other.stop_button).to_be_visible()
    model.release()
    expect(other.growing).to_have_text(f"{LONG}see ")
    late = open_tab()
    late.open(chat.page.url)
    expect(late.growing).to_have_text(f"{LONG}see ")
    model.release()
    for tab in (chat, other, late):
        tab.wait_for_answer(f"{LONG}see this.")
        tab.wait_until_idle()

    other.send("Hello from there")
    expect(chat.messages).to_have_text(["Hello from here", "Hello from there"])
    for tab in (chat, other, late):
        tab.wait_for_answer("And this.")
        tab.wait_until_idle()
    for tab in (other, late):
        tab.expect_entries(chat.log_entries())


def test_a_reload_shows_the_same_log_as_the_live_page(chat: ChatPage, model: Model) -> None:
    model.play(
        Turn(
            thoughts=["Who is it?"], text=["Noted. "], calls=[Call(name="remember_name", args={"name": "Bo"})]
        ),
        Turn(text=["Hello **Bo**!"]),
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "technical"})]),
        Turn(calls=[Call(name="find_guide", args={"problem": "the wifi is gone"})]),
        Turn(text=["1. Restart it\n2. Wait\n"]),
    )
    chat.send("I am Bo")
    chat.wait_for_answer("Hello Bo!")
    chat.wait_until_idle()
    chat.send("The wifi is gone")
    chat.wait_for_answer("Restart it")
    chat.wait_until_idle()
    live = chat.log_entries()
    assert len(live) > 6
    chat.reload()
    chat.expect_entries(live)


@pytest.mark.forwarded
def test_a_dropped_connection_is_shown_and_missed_words_appear_after_the_reconnect(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=WORDS, hold_before=[20, 100]))
    chat.send("Count")
    expect(chat.growing).to_have_text(words_until(20))
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…", timeout=3_000)
    model.release()
    chat.connection.restore()
    chat.wait_until_connected()
    expect(chat.growing).to_have_text(words_until(100))
    model.release()
    chat.wait_for_answer(WHOLE)
    chat.wait_until_idle()
    expect(chat.answers).to_have_text([WHOLE])


def cut_within_an_answer(chat: ChatPage, model: Model) -> None:
    """Cut the connection when the page shows the first word of "Here I am."; the model holds the rest back."""
    model.play(Turn(text=["Here ", "I am."], hold_before=[1]))
    chat.send("Hello")
    expect(chat.growing).to_have_text("Here ")
    chat.connection.cut()


@pytest.mark.forwarded
def test_an_answer_that_ends_without_a_connection_appears_after_the_reconnect(
    chat: ChatPage, model: Model
) -> None:
    cut_within_an_answer(chat, model)
    model.release()
    chat.connection.restore()
    chat.wait_for_answer("Here I am.")
    chat.wait_until_idle()
    expect(chat.answers).to_have_text(["Here I am."])


@pytest.mark.forwarded
def test_nothing_moves_for_a_reader_of_earlier_lines_when_the_connection_is_back_and_the_answer_ends(
    chat: ChatPage, model: Model
) -> None:
    lines = [f"line {number}\n\n" for number in range(90)]
    model.play(Turn(text=[*lines, "the end"], hold_before=[60, 80]))
    read_earlier_lines(chat)
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    chat.connection.restore()
    model.release()
    expect(chat.growing).to_contain_text("line 79")
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    model.release()
    chat.connection.restore()
    chat.wait_for_answer("the end")
    chat.wait_until_idle()
    [_] = set(chat.page.evaluate("places"))


@pytest.mark.forwarded
def test_nothing_moves_for_a_reader_of_earlier_lines_when_the_end_overtakes_the_event_of_the_answer(
    chat: ChatPage, model: Model
) -> None:
    lines = [f"line {number}\n\n" for number in range(90)]
    model.play(Turn(text=[*lines, "the end"], hold_before=[60]), Turn(text=["A short one."]))
    read_earlier_lines(chat)
    chat.connection.hold_events()
    model.release()
    expect(chat.page.locator("main[data-busy]")).to_have_count(0)
    expect(chat.growing).to_contain_text("line 59")
    chat.connection.release_events()
    chat.wait_for_answer("the end")
    chat.wait_until_idle()
    [_] = set(chat.page.evaluate("places"))
    chat.send("And now?")
    chat.wait_for_answer("A short one.")
    chat.wait_until_idle()
    # It has connected, and has asked once for what was missing.
    assert len([data for data in chat.connection.sent if json.loads(data)["type"] == "hello"]) == 2


@pytest.mark.forwarded
def test_an_answer_that_is_stopped_without_a_connection_ends_after_the_reconnect(
    chat: ChatPage, model: Model
) -> None:
    cut_within_an_answer(chat, model)
    expect(chat.status).to_have_text("Reconnecting…")
    chat.stop_button.click()
    expect(chat.stop_button).to_be_disabled()
    chat.connection.restore()
    chat.wait_until_idle()
    expect(chat.answers).to_have_text(["Here "])


@pytest.mark.forwarded
def test_the_state_of_the_connection_is_seen_only_in_trouble(chat: ChatPage) -> None:
    bar, retry = chat.page.locator(".trouble"), chat.page.get_by_role("button", name="Retry now")
    for _ in range(2):
        expect(retry).to_be_hidden()
        assert (box := bar.bounding_box()) and box["height"] <= 1
        chat.connection.cut()
        expect(chat.status).to_have_text("Reconnecting…")
        chat.page.wait_for_function(SEEK, arg=[".trouble", 999])
        expect(bar).to_be_hidden()  # for a moment
        chat.page.wait_for_function(SEEK, arg=[".trouble", 1_001])
        expect(retry).to_be_visible()
        assert (box := bar.bounding_box()) and box["height"] > 30
        chat.connection.restore()
        retry.dispatch_event("click")  # a click would wait for a button that the page has hidden meanwhile
        chat.wait_until_connected()


@pytest.mark.forwarded
def test_a_message_written_without_a_connection_is_kept_and_sent_once(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["It came."]))
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    chat.send("Does this arrive?")
    expect(chat.unsent).to_contain_text("Not sent")
    expect(chat.unsent.get_by_role("button", name="Retry")).to_be_visible()
    expect(chat.box).to_have_value("")
    chat.connection.restore()
    chat.wait_for_answer("It came.")
    chat.wait_until_idle()
    expect(chat.unsent).to_have_count(0)
    expect(chat.messages).to_have_text(["Does this arrive?"])
    assert len(model.requests()) == 1
    chat.reload()
    expect(chat.messages).to_have_text(["Does this arrive?"])


@pytest.mark.forwarded
def test_an_unsent_message_survives_a_reload(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["It came after all."]))
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    chat.send("Wait for me")
    expect(chat.unsent).to_contain_text("Not sent")
    chat.connection.restore()
    chat.reload()
    chat.wait_for_answer("It came after all.")
    expect(chat.messages).to_have_text(["Wait for me"])
    assert len(model.requests()) == 1


def test_a_message_written_during_an_answer_waits_for_its_turn(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["First ", "done."], hold_before=[1]), Turn(text=["Second done."]))
    chat.send("One")
    expect(chat.growing).to_have_text("First ")
    chat.send("Two")
    expect(chat.unsent).to_contain_text("Waiting for its turn")
    model.release()
    chat.wait_for_answer("Second done.")
    chat.wait_until_idle()
    expect(chat.answers).to_have_text(["First done.", "Second done."])
    expect(chat.unsent).to_have_count(0)


def test_a_draft_survives_a_reload_and_shift_enter_starts_a_new_line(chat: ChatPage) -> None:
    chat.box.press_sequentially("one")
    chat.box.press("Shift+Enter")
    chat.box.press_sequentially("two")
    chat.reload()
    expect(chat.box).to_have_value("one\ntwo")


@pytest.mark.forwarded
def test_a_stop_that_was_lost_with_a_connection_can_be_pressed_again(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Here ", "I am."], hold_before=[1]))
    chat.send("Hello")
    expect(chat.growing).to_have_text("Here ")
    chat.connection.silence()
    chat.stop_button.click()
    chat.connection.cut()
    chat.connection.restore()
    chat.wait_until_connected()
    chat.stop_button.click()
    chat.wait_until_idle()
    expect(chat.marks).to_have_text(["Stopped"])


def test_times_have_a_date_when_the_tab_is_shown_on_another_day(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Good evening."]))
    chat.page.clock.install()
    chat.reload()
    chat.send("Hello")
    chat.wait_for_answer("Good evening.")
    time = chat.log.locator("article time").last
    shown = time.inner_text()
    assert "," not in shown
    chat.page.clock.set_system_time(datetime.now(UTC) + timedelta(days=1))
    chat.page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))')
    expect(time).to_have_text(re.compile(rf".+, {re.escape(shown)}$"))
