"""Contract: while a tab is hidden, its title says what happened, and notifications do for those who want them."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.hidden_tab import (
    NO_NOTIFICATIONS,
    allow_hiding,
    give_notifications,
    hide,
    shown_notifications,
)
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.outages import jobs_stopped
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]
OFFER = "Tell me when it is ready"
LONG_ANSWER = 20_000
REPORT_MILLISECONDS = 60_000
CHOICE_IS = """(choice) => Object.entries(localStorage)
  .some(([key, value]) => key.startsWith("choice:") && value === choice)"""
HOSTILE = ["\u202egnp.exe", "a\0b", "x" * 200, "<b>bold</b>"]


@pytest.fixture
def tab(open_tab: OpenTab) -> ChatPage:
    """A tab that can be hidden; it shows no page yet."""
    opened = open_tab()
    allow_hiding(opened.page)
    return opened


def hold_answer(chat: ChatPage, model: Model, text: str = "Think") -> None:
    """Send a message whose answer waits for `model.release`, and wait until the chat has its title."""
    model.play(Turn(text=["The secret ", "is out."], hold_before=[1]))
    chat.send(text)
    expect(chat.growing).to_have_text("The secret ")
    expect(chat.page.locator("#title")).to_have_text(text)


def choose_notifications(page: Page) -> None:
    """Let the person have accepted the offer of notifications earlier."""
    person = page.locator("#main").get_attribute("data-person")
    page.evaluate("(person) => localStorage.setItem(`choice:${person}:notifications`, 'yes')", person)


def start_job(chat: ChatPage, model: Model, *, topic: str = "sales", precise: bool = False) -> None:
    """Start a report, which asks for approval when it is precise. One on returns takes a tenth of the time."""
    call = Call(name="write_report", args={"topic": topic, "group_by": "region", "precise": precise})
    rules = {
        r'"status": "succeeded"': Turn(text=["The report is ready."]),
        r'"status": "cancelled"': Turn(text=["As you wish."]),
        r'"status": "queued"': Turn(text=["I have started the report."]),
        "report": Turn(calls=[call]),
    }
    model.play(rules=rules)
    chat.send(f"A report on {topic}")


def test_the_title_says_that_an_answer_is_ready_until_the_tab_is_seen(tab: ChatPage, model: Model) -> None:
    chat = tab.open_new_chat()
    title = f"Think {uuid4().hex[:8]}"
    hold_answer(chat, model, title)
    hide(chat.page)
    expect(chat.page).to_have_title(f"{title} · Agents")
    model.release()
    expect(chat.page).to_have_title(f"(1) Answer ready · {title} · Agents")
    hide(chat.page, False)
    expect(chat.page).to_have_title(f"{title} · Agents")
    hide(chat.page)
    expect(chat.page).to_have_title(f"{title} · Agents")


def test_the_title_says_that_a_job_needs_the_person(tab: ChatPage, model: Model) -> None:
    chat = tab.open_new_chat()
    start_job(chat, model, precise=True)
    approve = chat.job("Write report").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    facts = chat.chats.filter(has_text="Needs you").first.locator(".item-facts")
    expect(facts).to_have_text(re.compile(r"^Needs you · Help desk · \d\d:\d\d"))
    expect(facts).to_have_css("height", re.compile(r"^(1\d|2[0-3])(\.\d+)?px$"))  # one line
    hide(chat.page)
    expect(chat.page).to_have_title(re.compile("^Needs you · "))
    hide(chat.page, False)
    expect(chat.page).to_have_title("A report on sales · Agents")
    chat.job("Write report").get_by_role("button", name="Cancel").click()
    chat.wait_for_answer("As you wish.")


def test_the_title_says_that_a_call_needs_approval_that_was_asked_for_meanwhile(
    tab: ChatPage, model: Model
) -> None:
    give_notifications(tab.page, permission="granted")
    chat = tab.open_new_chat()
    choose_notifications(chat.page)
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(
            text=["One moment. "],
            calls=[Call(name="refund_order", args={"order_number": 1001})],
            hold_before=[0],
        ),
        Turn(text=["That is settled."]),
    )
    chat.send("Refund order 1001")
    model.wait_until_asked("transfer_to_agent")
    hide(chat.page)
    model.release()
    expect(chat.page).to_have_title(re.compile("^Needs you · "))
    (shown,) = shown_notifications(chat.page)
    assert shown["title"] == "Needs you"
    hide(chat.page, False)
    chat.log.get_by_role("button", name="Reject").click()
    chat.wait_for_answer("That is settled.")
    expect(chat.page).to_have_title(re.compile("^Refund order 1001"))


def test_a_refused_offer_is_not_made_again_after_a_reload_or_sign_out(tab: ChatPage, model: Model) -> None:
    give_notifications(tab.page)
    chat = tab.open_new_chat()
    start_job(chat, model, precise=True)  # one that does not end by itself before the end of the test
    chat.job("Write report").get_by_role("button", name="Approve").click()
    chat.page.get_by_role("button", name="No, thanks").press("Enter")
    expect(chat.page.get_by_role("group", name="Notifications")).to_have_count(0)
    expect(chat.box).to_be_focused()
    chat.page.wait_for_function(CHOICE_IS, arg="no")
    chat.page.evaluate("document.querySelector('form[data-sign-out]').dispatchEvent(new Event('submit'))")
    chat.reload()
    job = chat.job("Write report")
    percent = str(job.locator("progress[value]").get_attribute("value"))
    expect(job.locator("progress")).not_to_have_attribute("value", percent)
    expect(chat.page.get_by_role("group", name="Notifications")).to_have_count(0)
    assert chat.page.evaluate("requests") == 0
    assert chat.page.evaluate(CHOICE_IS, "no")
    job.get_by_role("button", name="Cancel").click()
    chat.wait_for_answer("As you wish.")


def test_a_refusal_in_the_browser_is_remembered(tab: ChatPage, model: Model, site: Stack) -> None:
    give_notifications(tab.page, answer="denied")
    chat = tab.open_new_chat()
    with jobs_stopped(site):
        start_job(chat, model)
        offer = chat.page.get_by_role("button", name=OFFER)
        expect(offer).to_be_visible()
        assert chat.page.evaluate("requests") == 0
        offer.click()
        chat.page.wait_for_function(CHOICE_IS, arg="no")
        expect(offer).to_have_count(0)
        hide(chat.page)
        chat.job("Write report").get_by_role("button", name="Cancel").click()
    expect(chat.page).to_have_title("(1) Answer ready · A report on sales · Agents")
    assert (shown_notifications(chat.page), chat.page.evaluate("requests")) == ([], 1)


def test_an_offer_goes_when_nothing_is_awaited_any_more(tab: ChatPage, model: Model, site: Stack) -> None:
    give_notifications(tab.page)
    chat = tab.open_new_chat()
    with jobs_stopped(site):
        start_job(chat, model)
        expect(chat.page.get_by_role("group", name="Notifications")).to_be_visible()
        chat.job("Write report").get_by_role("button", name="Cancel").click()
    chat.wait_for_answer("As you wish.")
    expect(chat.page.get_by_role("group", name="Notifications")).to_have_count(0)


def test_the_title_says_that_a_job_is_done(tab: ChatPage, model: Model, site: Stack) -> None:
    give_notifications(tab.page)
    chat = tab.open_new_chat()
    with jobs_stopped(site):
        start_job(chat, model, topic="returns")
        chat.page.get_by_role("button", name=OFFER).click()
        chat.page.wait_for_function(CHOICE_IS, arg="yes")
        expect(chat.page.locator("#title")).to_have_text("A report on returns")
        hide(chat.page)
    expect(chat.page).to_have_title(
        "(2) Answer ready · A report on returns · Agents", timeout=REPORT_MILLISECONDS
    )
    told = [(shown["title"], shown["body"]) for shown in shown_notifications(chat.page)]
    assert told == [("Job done", "A report on returns"), ("Answer ready", "A report on returns")]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_notification_names_the_chat_and_what_happened_but_not_the_answer(
    tab: ChatPage, model: Model, name: str
) -> None:
    give_notifications(tab.page)
    tab.page.clock.install()
    chat = tab.open_new_chat()
    title = f"{name[:190]}{uuid4().hex[:8]}"
    hold_answer(chat, model, "Think")
    chat.choose("Think", "Rename")
    chat.page.get_by_label("Title of the chat").fill(title.replace("\0", "\ufffd"))
    chat.page.keyboard.press("Enter")
    # Characters that turn text around are stored, and left out where a title is shown.
    shown_title = title.replace("\0", "\ufffd").replace("\u202e", "")
    expect(chat.page.locator("#title")).to_have_text(shown_title)
    expect(chat.page.get_by_role("button", name=OFFER)).to_have_count(0)
    chat.page.clock.fast_forward(LONG_ANSWER)
    chat.page.get_by_role("button", name=OFFER).click()
    chat.page.wait_for_function(CHOICE_IS, arg="yes")
    hide(chat.page)
    model.release()
    expect(chat.page).to_have_title(re.compile(r"^\(1\) Answer ready · "))
    (shown,) = shown_notifications(chat.page)
    assert (shown["title"], shown["body"]) == ("Answer ready", shown_title)
    assert "secret" not in str(shown)
    chat.page.evaluate("shownNotifications[0].onclick()")
    assert chat.page.evaluate("wasFocused")
    hide(chat.page, False)
    assert chat.page.evaluate("shownNotifications[0].isClosed")


def test_nothing_is_shown_while_the_tab_is_seen(tab: ChatPage, model: Model) -> None:
    give_notifications(tab.page, permission="granted")
    chat = tab.open_new_chat()
    choose_notifications(chat.page)
    hide(chat.page)  # loads what tells the news
    hide(chat.page, False)
    hold_answer(chat, model)
    model.release()
    chat.wait_for_answer("The secret is out.")
    chat.wait_until_idle()
    expect(chat.page).to_have_title("Think · Agents")
    assert shown_notifications(chat.page) == []


def test_without_notifications_in_the_browser_nothing_is_offered_and_the_title_tells(
    tab: ChatPage, model: Model
) -> None:
    tab.page.add_init_script(NO_NOTIFICATIONS)
    tab.page.clock.install()
    chat = tab.open_new_chat()
    hold_answer(chat, model)
    chat.page.clock.fast_forward(LONG_ANSWER)
    expect(chat.page.get_by_role("button", name=OFFER)).to_have_count(0)
    hide(chat.page)
    model.release()
    expect(chat.page).to_have_title("(1) Answer ready · Think · Agents")
