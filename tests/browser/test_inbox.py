"""Contract: staff approve a call in the admin while the chat is open; the chat shows at once who has approved."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_audit import audit_url
from tests.browser.test_fits_everybody import RULES_OF_COLOURS, serious_problems
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]
PICTURES = os.environ.get("PICTURES", "")
"""Folder for pictures of the pages, to look at them."""
SCHEMES: dict[Literal["light", "dark"], Sequence[str]] = {"light": (), "dark": RULES_OF_COLOURS}
"""The rules of axe to check in each colour scheme; no rules are all rules."""


def look_at(page: Page, name: str) -> None:
    """Look for problems and for content that is wider than the page, in both schemes and widths."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme, rules in SCHEMES.items():
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert serious_problems(page, rules) == []
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")


def test_07_staff_approve_a_call_in_the_inbox_and_correct_the_state_while_the_chat_is_open(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    refund = Call(name="refund_order", args={"order_number": 1001})
    transfer = Call(name="transfer_to_agent", args={"agent_name": "orders"})
    model.play(Turn(calls=[transfer]), Turn(calls=[refund]), Turn(text=["It is refunded."]))
    chat.send("My lamp is broken")
    question = chat.page.locator(".question")
    expect(question.get_by_role("button", name="Approve")).to_be_visible()
    tab = open_tab(STAFF)
    admin = tab.page
    admin.goto(f"{chat.base_url}/admin/sessions_app/answerrequest/")
    look_at(admin, "inbox")
    admin.get_by_role("link", name=re.compile("Refund order 1001")).first.click()
    expect(admin.locator("#content")).to_contain_text("My lamp is broken")
    look_at(admin, "request")
    admin.get_by_label("Reason").fill("It is under guarantee")
    admin.get_by_role("button", name="Approve").press("Enter")
    expect(admin.locator(".messagelist")).to_contain_text("Approved: Refund order 1001")
    expect(question).to_contain_text("Approved by admin (staff)")
    expect(question).to_contain_text("It is under guarantee")
    expect(question.get_by_role("button")).to_have_count(0)
    chat.wait_for_answer("It is refunded.")
    chat.wait_until_idle()
    admin.goto(audit_url(chat))
    admin.get_by_role("link", name="correct the state").click()
    admin.get_by_label("Another key").fill("user:tier")
    look_at(admin, "keys")
    admin.get_by_role("button", name="Continue").click()
    admin.get_by_label("Value as JSON").fill('"gold"')
    admin.get_by_label("Reason").fill("Agreed by phone")
    look_at(admin, "correction")
    admin.get_by_role("button", name="Append the correction").click()
    expect(admin.locator(".messagelist")).to_contain_text("The state is corrected by event")
    look_at(admin, "session")
    admin.get_by_role("link", name="Trace", exact=True).first.click()
    admin.get_by_role("link", name=re.compile("gemini")).first.click()
    look_at(admin, "trace")
    for model_name in ("annotation", "feedback", "session", "dayfigure", "tooljob", "invocation"):
        admin.goto(f"{chat.base_url}/admin/sessions_app/{model_name}/")
        look_at(admin, model_name)
    # Of the many columns of the last list the status is in sight.
    expect(admin.locator("#result_list .field-badge").first).to_be_in_viewport(ratio=1)
    if PICTURES:
        chat.page.screenshot(path=Path(PICTURES) / "chat.png", full_page=True)
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses
