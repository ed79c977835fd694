"""Contract: a person changes settings, and makes, copies and revokes an API key, by keyboard and on a phone, too."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests import oauth_mcp_server
from tests.browser.accessibility import TOO_SMALL, serious_problems, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.browser.test_languages import OUTSIDE
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]
PHONE: ViewportSize = {"width": 360, "height": 740}
KEY = re.compile(r"adk_[\w-]{43}")


ASKING = """window.Notification = class {
    static permission = "default";
    static async requestPermission() { return (this.permission = "granted"); }
};"""
"""Notifications of a browser that asks its person, who says yes."""


SHOWN = """async (main) => {
    main.insertAdjacentHTML("beforeend", '<time datetime="2020-01-01T12:00:00Z"></time>');
    (await import("/static/sessions_app/chat/times.js")).showLocalTimes(main);
    return main.lastElementChild.textContent;
}"""


def status_with(page: Page, key: str) -> int:
    """Return the status of a request with the key, without the sign-in of the browser."""
    sent = {"authorization": f"Bearer {key}"}
    asked = (
        "([headers]) => fetch('/api/v1/me', { headers, credentials: 'omit' }).then(({ status }) => status)"
    )
    return int(page.evaluate(asked, [sent]))


def test_a_key_is_made_and_revoked_with_the_keyboard_on_a_phone(open_tab: OpenTab) -> None:
    tab = open_tab()
    page, name = tab.page, f"Laptop {uuid4().hex[:8]}"
    page.set_viewport_size(PHONE)
    page.goto(tab.base_url)
    page.locator("[popovertarget=account]").press("Enter")
    page.get_by_role("link", name="Settings").press("Enter")
    page.locator("#keys").get_by_role("link", name="API keys").press("Enter")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Answer questions and approvals").press("Space")
    page.get_by_role("button", name="Make the key").press("Enter")
    made = page.get_by_role("heading", name=f"The key “{name}” is made")
    expect(made).to_be_focused()
    key = page.get_by_label("Key", exact=True).input_value()
    assert KEY.fullmatch(key)
    assert status_with(page, key) == 200
    page.get_by_role("button", name="Copy key").press("Enter")
    expect(page.get_by_role("status")).to_have_text(re.compile(r"Copied|Copy it\.$"))
    assert page.evaluate(OUTSIDE) == [] and page.evaluate(TOO_SMALL) == []
    page.goto(f"{tab.base_url}/keys/")
    assert key not in page.content()
    row = page.get_by_role("listitem").filter(has_text=name).first
    expect(row).to_contain_text("Answer questions and approvals")
    row.locator("summary").press("Enter")
    row.get_by_role("button", name="Revoke the key").press("Enter")
    expect(page.get_by_role("heading", name="Ended keys")).to_be_visible()
    assert status_with(page, key) == 401
    tab.errors.clear()  # the refused request is one for the browser's console


def test_a_program_that_signs_in_is_allowed_on_a_phone(
    open_tab: OpenTab, notes: oauth_mcp_server.Service
) -> None:
    tab = open_tab()
    page = tab.page
    program = f"{notes.url}/authorize"  # any address of this computer
    about = {"client_name": "Editor of Ada", "redirect_uris": [program]}
    registered = page.request.post(tab.address("/mcp/register"), data=about).json()
    asked = {
        "client_id": registered["client_id"],
        "redirect_uri": program,
        "response_type": "code",
        "code_challenge": "c" * 43,
        "code_challenge_method": "S256",
        "resource": tab.address("/mcp"),
    }
    page.set_viewport_size(PHONE)
    page.goto(tab.address(f"/authorize/?{urlencode(asked)}"))
    assert page.evaluate(OUTSIDE) == [] and page.evaluate(TOO_SMALL) == []
    assert serious_problems_in_both_schemes(page) == []
    expect(page.get_by_role("main")).to_contain_text(f"You return to a program on this computer: {program}")
    page.get_by_role("button", name="Allow").press("Enter")
    # Chromium applies `form-action` to this redirect.
    page.wait_for_url(re.compile(f"{program}\\?code=.+"), wait_until="commit")
    tab.errors.clear()  # of axe, and the program's answer


def test_notifications_are_chosen_for_this_browser_in_the_settings(open_tab: OpenTab) -> None:
    tab = open_tab()
    page = tab.page
    page.add_init_script(ASKING)
    page.goto(f"{tab.base_url}/settings/")
    box = page.get_by_role("checkbox", name="Tell me when an answer is ready")
    box.press("Space")
    expect(box).to_be_checked()
    kept = "Object.entries(localStorage).find(([key]) => key.endsWith(':notifications'))?.[1]"
    assert page.evaluate(kept) == "yes"
    box.press("Space")
    expect(box).not_to_be_checked()
    assert page.evaluate(kept) == "no"
    page.evaluate("Object.keys(localStorage).forEach((key) => localStorage.removeItem(key))")


def test_what_an_agent_has_noted_is_changed_and_forgotten(chat: ChatPage, model: Model) -> None:
    noting = Call(name="remember_name", args={"name": "Ada"})
    model.play(Turn(calls=[noting]), Turn(text=["Hello Ada."]))
    chat.send("I am Ada")
    chat.wait_for_answer("Hello Ada.")
    page = chat.page
    page.goto(chat.address("/settings/"))
    page.get_by_role("link", name="What agents know of you").last.press("Enter")
    section = page.locator("main")
    section.get_by_role("textbox", name="Name", exact=True).fill("Grace")
    section.get_by_role("button", name="Save Name").press("Enter")
    expect(section.get_by_role("status")).to_have_text("The value is saved.")
    expect(section.get_by_role("textbox", name="Name", exact=True)).to_have_value("Grace")
    section.get_by_role("button", name="Forget Name").press("Enter")
    expect(section.get_by_role("status")).to_have_text("The value is forgotten.")
    expect(section.get_by_role("textbox", name="Name", exact=True)).to_have_count(0)


def test_times_are_in_the_chosen_time_zone(open_tab: OpenTab) -> None:
    tab = open_tab()
    page = tab.page
    page.goto(f"{tab.base_url}/settings/")
    root = page.locator("html")
    for zone, hour in (("Asia/Tokyo", "09:00 PM"), ("America/Lima", "07:00 AM")):
        page.get_by_label("Time zone").select_option(zone)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(root).to_have_attribute("data-time-zone", zone)
        assert hour in page.locator("main").evaluate(SHOWN)
    page.get_by_label("Time zone").select_option("As the browser")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(root).not_to_have_attribute("data-time-zone", "America/Lima")


@pytest.mark.parametrize(("language", "theme"), [("en", "dark"), ("ar", "light")])
def test_axe_finds_no_serious_problem(
    open_tab: OpenTab, language: str, theme: Literal["dark", "light"]
) -> None:
    tab = open_tab()
    page = tab.page
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme=theme)
    page.set_extra_http_headers({"accept-language": language})
    for address in ("/keys/", "/settings/", "/settings/known/"):
        page.goto(f"{tab.base_url}{address}")
        for summary in page.locator("main summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate(OUTSIDE) == [] and page.evaluate(TOO_SMALL) == []
        assert serious_problems(page) == []
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses
