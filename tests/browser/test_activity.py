"""Contract: the activity shows what waits, runs and comes in all chats, live, by keyboard and on a phone."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.accessibility import problems_on_a_phone, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def open_activity(tab: ChatPage) -> Locator:
    """Open the panel by keyboard; return it."""
    tab.page.get_by_role("button", name="Activity").press("Enter")
    panel = tab.page.get_by_role("dialog", name="Activity")
    expect(panel).to_be_visible()
    expect(panel).not_to_contain_text("Loading…")
    return panel


def play(model: Model) -> None:
    """Script an agent that starts a report which asks first, or schedules a task, or is slow."""
    report = Call(name="write_report", args={"topic": "sales", "group_by": "region", "precise": True})
    task = Call(name="schedule_task", args={"task": "Check <b>order</b> 7.", "every": "0 9 * * 1-5"})
    model.play(
        rules={
            r'"status": "': Turn(text=["Begun."]),
            "Slow": Turn(text=["Slow", "ly."], hold_before=[1]),
            "Report": Turn(calls=[report]),
            "Plan": Turn(calls=[task]),
        }
    )


def test_the_panel_follows_what_happens_in_other_chats_and_links_to_them(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play(model)
    titles = {word: f"{word} {uuid4().hex[:8]}" for word in ("Report", "Plan", "Slow")}
    other = open_tab()
    other.open_new_chat()
    panel = open_activity(chat)
    other.send(titles["Report"])
    report = panel.locator("[data-asked]").filter(has_text=titles["Report"])
    expect(report).to_contain_text("A precise report computes for some minutes. Go ahead?")
    other.wait_for_answer("Begun.")
    other.new_chat()
    other.send(titles["Plan"])
    expect(panel.get_by_role("listitem").filter(has_text=titles["Plan"]).last).to_contain_text(
        "Check <b>order</b> 7."
    )
    other.wait_for_answer("Begun.")
    other.new_chat()
    other.send(titles["Slow"])
    slow = panel.get_by_role("listitem").filter(has_text=titles["Slow"])
    expect(slow).to_contain_text("Answering")
    link = report.get_by_role("link")
    link.focus()
    model.release()
    expect(slow).to_have_count(0)
    expect(link).to_be_focused()
    link.press("Enter")
    chat.wait_until_connected()
    expect(chat.messages).to_have_text([titles["Report"]])
    chat.job("Write report").get_by_role("button", name="Cancel").click()
    expect(chat.answers).to_have_text(["Begun.", "Begun."])  # of the call, and of the cancelled job
    chat.wait_until_idle()


def test_a_link_of_the_panel_that_is_pressed_while_its_item_goes_is_followed(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play(model)
    title = f"Slow {uuid4().hex[:8]}"
    other = open_tab()
    other.open_new_chat()
    panel = open_activity(chat)
    other.send(title)
    slow = panel.get_by_role("listitem").filter(has_text=title)
    expect(slow).to_contain_text("Answering")
    slow.get_by_role("link").hover()
    chat.page.mouse.down()
    model.release()
    other.wait_for_answer("Slowly.")
    for _ in range(2):  # The first may have been asked for before the end of the answer.
        with chat.page.expect_response(re.compile(r"/activity/")) as news:
            pass
        news.value.finished()
    chat.page.evaluate("new Promise((done) => setTimeout(done))")  # The page has read the response.
    chat.page.mouse.up()
    chat.page.wait_for_url(re.compile(other.session_id))
    chat.wait_until_connected()
    expect(chat.messages).to_have_text([title])


def test_a_call_is_approved_in_the_panel_which_says_what_was_answered_elsewhere(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    title = f"Lamps {uuid4().hex[:8]}"
    transfer = Call(name="transfer_to_agent", args={"agent_name": "orders"})
    refunds = [Call(name="refund_order", args={"order_number": number}) for number in (1001, 1002)]
    calls = [Turn(calls=[call]) for call in (transfer, *refunds)]
    model.play(*calls, Turn(text=["One is refunded."]))
    other = open_tab()
    other.open_new_chat()
    panel = open_activity(chat)
    other.send(title)
    first, second = (
        panel.get_by_role("listitem").filter(has_text=title).filter(has_text=f"Order number {number}")
        for number in (1001, 1002)
    )
    expect(first.get_by_text("Refund order 1001?")).to_be_visible()
    expect(chat.page.locator("#activity .count")).to_have_text(
        re.compile(rf"^{panel.locator('[data-asked]').count()} ")
    )
    first.get_by_role("button", name="Approve").press("Enter")
    expect(first).to_contain_text("Approved")
    expect(first.get_by_role("button")).to_have_count(0)
    expect(other.log.locator(".question").first).to_contain_text("Approved by you")
    expect(second.get_by_role("button", name="Reject")).to_be_visible()
    other.log.get_by_role("button", name="Reject").click()
    expect(second).to_contain_text("Answered elsewhere")
    expect(second.get_by_role("button")).to_have_count(0)
    other.wait_for_answer("One is refunded.")


def test_a_job_is_approved_and_cancelled_in_the_panel_with_its_progress(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play(model)
    title = f"Report {uuid4().hex[:8]}"
    other = open_tab()
    other.open_new_chat()
    panel = open_activity(chat)
    other.send(title)
    item = panel.get_by_role("listitem").filter(has_text=title)
    panel.locator("[data-asked]").filter(has_text=title).get_by_role("button", name="Approve").click()
    job = item.filter(has=chat.page.get_by_role("progressbar"))
    expect(job.locator("progress[value]:not([value='0'])")).to_be_visible()
    expect(job.locator(".phases > [data-status=running]")).to_contain_text(re.compile(r"\d s"))
    job.get_by_role("button", name="Cancel").click()
    expect(job).to_have_count(0)
    expect(other.job("Write report")).to_have_attribute("data-status", "cancelled")
    expect(other.answers).to_have_text(["Begun.", "Begun."])
    other.wait_until_idle()


def test_the_pages_of_all_chats_follow_what_happens_in_a_chat(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play(model)
    title = f"Report {uuid4().hex[:8]}"
    home, inbox = open_tab().page, open_tab().page
    home.goto(chat.base_url)
    inbox.goto(chat.address("/activity/"))
    chat.send(title)
    item = inbox.get_by_role("listitem").filter(has_text=title)
    expect(item.get_by_role("button", name="Approve")).to_be_visible()
    waiting = inbox.locator("#inbox [data-asked]").count()
    asked = re.compile(rf"^{waiting} questions? waits? for you$")
    expect(inbox.get_by_role("status").filter(has_text=asked)).to_have_count(1)
    expect(home.get_by_role("link", name=title)).to_be_visible()
    expect(home.locator("#activity .count")).to_have_text(re.compile(rf"^{waiting} "))
    chat.job("Write report").get_by_role("button", name="Approve").click()
    expect(item.filter(has_text="Answered elsewhere").get_by_role("button")).to_have_count(0)
    job = item.filter(has=inbox.get_by_role("progressbar"))
    cancel = job.get_by_role("button", name="Cancel")
    cancel.focus()
    percent = job.locator(".job-percent")
    expect(percent).not_to_have_text(percent.inner_text())
    expect(cancel).to_be_focused()
    cancel.press("Enter")
    expect(job).to_have_count(0)
    expect(chat.answers).to_have_text(["Begun.", "Begun."])
    chat.wait_until_idle()


def test_the_panel_closes_by_keyboard_and_gives_the_focus_back(chat: ChatPage) -> None:
    panel = open_activity(chat)
    chat.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(chat.page.get_by_role("button", name="Activity")).to_be_focused()


def test_the_panel_suits_everybody_on_each_page(chat: ChatPage, model: Model) -> None:
    play(model)
    page = chat.page
    chat.send("Plan " + "W" * 150)
    chat.wait_for_answer("Begun.")
    for address in (page.url, chat.base_url, chat.address("/activity/")):
        page.goto(address)
        if not address.endswith("/activity/"):
            open_activity(chat)
        expect(page.get_by_role("heading", name="Scheduled")).to_be_visible()
        assert serious_problems_in_both_schemes(page) == []
        assert problems_on_a_phone(page) == []
        page.set_viewport_size({"width": 1280, "height": 720})


def test_without_a_connection_the_panel_says_so(chat: ChatPage) -> None:
    chat.page.route("**/activity/list/", lambda route: route.abort())
    panel = chat.page.get_by_role("dialog", name="Activity")
    chat.page.get_by_role("button", name="Activity").click()
    expect(panel).to_contain_text("There is no connection.")
    chat.errors.clear()  # the browser reports the request that failed
