"""Contract: staff approve a call in the admin while the chat is open; the chat shows at once who has approved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, Route, ViewportSize, expect

from tests.browser.accessibility import PHONE, serious_problems
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_audit import audit_url
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]
WIDE: ViewportSize = {"width": 1280, "height": 900}
SCREENS: Sequence[tuple[Literal["dark", "light"], ViewportSize]] = (("dark", PHONE), ("light", WIDE))


def check_accessibility(page: Page) -> None:
    """Check the page in the dark scheme on a phone, and in the light one on a wide screen, which it keeps."""
    for scheme, size in SCREENS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert serious_problems(page) == []


def test_07_staff_approve_a_call_in_the_inbox_and_correct_the_state_while_the_chat_is_open(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    refund = Call(name="refund_order", args={"order_number": 1003})
    transfer = Call(name="transfer_to_agent", args={"agent_name": "orders"})
    invoice = Call(name="write_invoice", args={"order_number": 1001})
    calls = [Turn(calls=[call]) for call in (transfer, invoice, refund)]
    model.play(*calls, Turn(text=["It is refunded."]))
    chat.send("My lamp is broken")
    question = chat.page.locator(".question")
    expect(question.get_by_role("button", name="Approve")).to_be_visible()
    tab = open_tab(STAFF)
    admin = tab.page
    admin.goto(f"{chat.base_url}/admin/")
    # The home page names the oldest requests, which other tests may have left.
    expect(admin.get_by_role("link", name=re.compile(r"Approvals inbox \([1-9]")).first).to_be_visible()
    check_accessibility(admin)
    admin.goto(f"{chat.base_url}/admin/sessions_app/answerrequest/?tool_name=refund_order")
    expect(admin.get_by_role("button", name="Follow changes")).to_have_attribute("aria-pressed", "true")
    expect(admin.locator("td.field-argument").last).to_have_text("1003")
    check_accessibility(admin)
    admin.goto(f"{chat.base_url}/admin/sessions_app/answerrequest/")
    admin.set_viewport_size(PHONE)
    assert admin.locator("#live-groups .audit-scroll").evaluate("box => box.scrollWidth <= box.clientWidth")
    admin.get_by_role("button", name="Choose all").click()
    expect(admin.get_by_role("checkbox", name=re.compile("Refund order 1003")).last).to_be_checked()
    check_accessibility(admin)
    admin.get_by_role("link", name=re.compile("Refund order 1003")).first.click()
    expect(admin.locator("#content")).to_contain_text("My lamp is broken")
    check_accessibility(admin)
    admin.get_by_label("Reason").fill("It is under guarantee")
    admin.get_by_role("button", name="Approve").press("Enter")
    expect(admin.locator(".messagelist")).to_contain_text("Approved: Refund order 1003")
    expect(question).to_contain_text("Approved by admin (staff)")
    expect(question).to_contain_text("It is under guarantee")
    expect(question.get_by_role("button")).to_have_count(0)
    chat.wait_for_answer("It is refunded.")
    chat.wait_until_idle()
    admin.goto(audit_url(chat))
    admin.get_by_role("link", name="correct the state").click()
    admin.get_by_label("Another key").fill("user:tier")
    check_accessibility(admin)
    admin.get_by_role("button", name="Continue").click()
    admin.get_by_label("Value as JSON").fill('"gold"')
    admin.get_by_label("Reason").fill("Agreed by phone")
    check_accessibility(admin)
    admin.get_by_role("button", name="Append the correction").click()
    expect(admin.locator(".messagelist")).to_contain_text("The state is corrected by event")
    check_accessibility(admin)
    admin.locator(".audit-menu > summary").first.press("Enter")
    check_accessibility(admin)
    admin.get_by_role("link", name="Trace", exact=True).first.click()
    admin.get_by_role("link", name=re.compile("gemini")).first.click()
    check_accessibility(admin)
    admin.goto(f"{chat.base_url}/admin/sessions_app/apikey/add/")
    check_accessibility(admin)
    for model_name in ("annotation", "feedback", "session", "dayfigure", "tooljob", "invocation"):
        admin.goto(f"{chat.base_url}/admin/sessions_app/{model_name}/")
        check_accessibility(admin)
    # Of the many columns of the last list the status is in sight.
    expect(admin.locator("#result_list .field-badge").first).to_be_in_viewport(ratio=1)
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses


def press_while_the_list_changes(link: Locator) -> None:
    """Press a link of a list that staff follow, and release it when the page has read another list."""

    def change(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace("Choose one", "Choose only one"))

    page, lists = link.page, "**/answerrequest/"
    page.route(lists, change)
    link.hover()
    page.mouse.down()
    with page.expect_response(lists) as response:
        pass
    response.value.finished()
    page.evaluate("new Promise((done) => setTimeout(done))")  # The page has read the response.
    page.unroute(lists)
    page.mouse.up()


def test_a_request_appears_in_the_open_inbox_and_leaves_it_when_the_person_answers(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(
        Turn(calls=[Call(name="get_user_choice", args={"options": ["Tea", "Coffee"]})]),
        Turn(text=["Tea it is."]),
    )
    admin = open_tab(STAFF).page
    admin.goto(f"{chat.base_url}/admin/sessions_app/answerrequest/")
    admin.evaluate("window.isSameLoad = true")
    chat.open_new_chat("questions")
    chat.send("Something to drink")
    request = admin.locator(f"#result_list tr:has(a[href*='{chat.session_id}'])")
    expect(request).to_contain_text("Choose one: Tea, Coffee")
    link = request.get_by_role("link", name="Choose one")
    press_while_the_list_changes(link)
    expect(admin).to_have_url(re.compile(r"/answerrequest/[^/]+/change/"))
    admin.go_back()
    admin.evaluate("window.isSameLoad = true")
    chat.log.locator(".question").get_by_role("button", name="Tea").click()
    chat.wait_for_answer("Tea it is.")
    chat.wait_until_idle()
    expect(request).to_have_count(0)
    assert admin.evaluate("window.isSameLoad")
