"""Contract: waiting says for what and for how long, a queued message can be cancelled, and only trouble is shown."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import ChatPage
from tests.browser.model import Model
from tests.model_server import Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def test_waiting_shows_the_seconds_and_is_told_once(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["At last."], hold_before=[0]), Turn(text=["Again."], hold_before=[0]))
    chat.page.evaluate(
        """() => {
          window.told = [];
          const asked = document.getElementById("asked");
          new MutationObserver(() => told.push(asked.textContent)).observe(asked, { childList: true });
        }"""
    )
    chat.send("Think")
    expect(chat.page.locator("#working")).to_have_text(re.compile(r"Thinking…\s*([2-9]|\d\d) s"))
    model.release()
    chat.wait_for_answer("At last.")
    expect(chat.page.locator("#working")).to_be_hidden()
    assert chat.page.evaluate("told") == ["Thinking…", ""]
    # What is announced meanwhile stays.
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.send("Think again")
    expect(chat.page.locator("#asked")).to_have_text("Thinking…")
    chat.log.get_by_role("button", name="Copy the answer").press("Enter")
    expect(chat.page.locator("#asked")).to_have_text("Copied.")
    model.release()
    chat.wait_for_answer("Again.")
    chat.wait_until_idle()
    expect(chat.page.locator("#asked")).to_have_text("Copied.")


def test_a_queued_message_shows_its_place_and_can_be_cancelled(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["One."], hold_before=[0]), Turn(text=["Three."]))
    chat.send("First")
    model.wait_until_asked("First")
    for text in ("Second", "Third"):
        chat.send(text)
        expect(chat.unsent.filter(has_text=text)).to_contain_text("Waiting for its turn")
    expect(chat.unsent.filter(has_text="Third")).to_contain_text("after 1 more")
    chat.unsent.filter(has_text="Second").get_by_role("button", name="Cancel").press("Enter")
    expect(chat.unsent).to_have_count(1)
    expect(chat.unsent).not_to_contain_text("after")
    expect(chat.box).to_be_focused()
    model.release()
    chat.wait_for_answer("Three.")
    expect(chat.answers).to_have_text(["One.", "Three."])
    assert len(model.requests()) == 2


@pytest.mark.forwarded
def test_only_trouble_is_shown_and_retry_reconnects(chat: ChatPage) -> None:
    retry = chat.page.get_by_role("button", name="Retry now")
    expect(retry).to_be_hidden()
    # The page does not reconnect by itself before the button is pressed.
    chat.page.clock.install()
    chat.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    expect(retry).to_be_visible()
    chat.connection.restore()
    retry.click()
    chat.page.clock.resume()
    chat.wait_until_connected()
    expect(retry).to_be_hidden()
    expect(chat.box).to_be_focused()
