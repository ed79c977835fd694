"""Contract: the interactive documentation of the API works with the browser's sign-in and asks no other host."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenTab

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def test_an_operation_is_tried_out_with_the_sign_in_of_the_browser(open_tab: OpenTab) -> None:
    tab = open_tab()
    page, session_id = tab.page, str(uuid4())
    page.goto(f"{tab.base_url}/api/v1/docs")
    operation = page.locator(".opblock-post").filter(has=page.locator("[data-path='/api/v1/sessions']"))
    operation.locator(".opblock-summary").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.locator("textarea").fill(f'{{"app": "help_desk", "session_id": "{session_id}"}}')
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text("201")
    page.goto(f"{tab.base_url}/chat/{session_id}/")
    expect(tab.box).to_be_enabled()
