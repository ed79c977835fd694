"""Contract: staff can stop an answer or a job in the admin; the chat shows "by staff" but no name and no reason."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_audit import audit_url
from tests.browser.test_jobs import play_report, wait_for_progress
from tests.browser.test_trouble import STOP_SECONDS
from tests.model_server import Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def test_an_answer_that_staff_stop_keeps_its_text_in_the_chat(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["So far ", "and no further."], hold_before=[1]))
    chat.send("Go on and on")
    expect(chat.growing).to_have_text("So far ")
    audit = open_tab(STAFF).page
    audit.goto(audit_url(chat))
    audit.get_by_role("link", name=re.compile("^Stop ")).press("Enter")
    audit.get_by_label("Reason").fill("It goes round in circles")
    audit.get_by_role("button", name="Stop it").press("Enter")
    model.wait_until_disconnected(STOP_SECONDS)
    expect(chat.marks).to_have_text(["Stopped by staff"])
    chat.wait_until_idle()
    expect(chat.answers).to_have_text(["So far"])
    chat.assert_same_after_reload()
    expect(chat.page.locator("body")).not_to_contain_text("circles")

    expect(audit).to_have_url(audit_url(chat))
    expect(audit.locator(".messagelist")).to_have_text("The invocation is being stopped.")
    audit.reload()
    row = audit.get_by_role("region", name="Invocations").locator("tbody tr")
    expect(row).to_contain_text("cancelled")
    expect(row).to_contain_text("cancel requested by admin: It goes round in circles")
    expect(row.get_by_role("link", name=re.compile("^Stop "))).to_have_count(0)


def test_a_job_that_staff_stop_ends_and_the_agent_answers(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    # A precise report does not end by itself before staff have found it.
    answers = {"then": Turn(text=["It succeeded."]), "cancelled": Turn(text=["Staff stopped it."])}
    play_report(model, "sales", **answers, precise=True)
    chat.send("A precise report on sales")
    chat.job("Write report").get_by_role("button", name="Approve").press("Enter")
    wait_for_progress(chat.page, 0)
    audit = open_tab(STAFF).page
    audit.goto(audit_url(chat))
    audit.get_by_role("region", name="Jobs").get_by_role("link", name="write_report", exact=True).click()
    audit.get_by_role("link", name="Stop…").click()
    audit.get_by_role("button", name="Stop it").click()
    expect(audit.locator(".messagelist")).to_have_text("The job is being stopped.")
    expect(chat.job("Write report")).to_have_attribute("data-status", "cancelled")
    expect(chat.job("Write report")).to_contain_text("The job was stopped by staff.")
    chat.wait_for_answer("Staff stopped it.")
    chat.wait_until_idle()
    expect(chat.tool("write_report").locator(".tool-outcome")).to_contain_text("Cancelled")


def test_axe_finds_no_serious_violation_on_the_pages_that_stop_invocations(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["So far ", "and no further."], hold_before=[1]))
    chat.send("Go on")
    expect(chat.growing).to_have_text("So far ")
    tab = open_tab(STAFF)
    audit = tab.page
    audit.goto(audit_url(chat))
    assert serious_problems_in_both_schemes(audit) == []
    invocations = audit.get_by_role("region", name="Invocations")
    own_page = invocations.locator("th a").get_attribute("href")
    invocations.get_by_role("link", name=re.compile("^Stop ")).click()
    assert serious_problems_in_both_schemes(audit) == []
    audit.goto(f"{chat.base_url}{own_page}")
    expect(audit.get_by_role("link", name="Stop…")).to_be_visible()
    assert tab.errors == []
    assert serious_problems_in_both_schemes(audit) == []
    tab.errors.clear()  # axe itself sets an inline style here, which the content security policy refuses
    model.release()
    chat.wait_until_idle()
