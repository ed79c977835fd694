"""Contract: an owner uploads, replaces and deletes a document, and an agent cites it with a link to the passage."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import PHONE, TOO_SMALL, serious_problems, serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.test_languages import OUTSIDE
from tests.integration.contrib.knowledge.files import pdf

pytestmark = [pytest.mark.browser, pytest.mark.stack]
READ_MILLISECONDS = 60_000
"""Longest time until a worker has read a file."""
PAGES = [("Opening", ["The museum opens at ten."]), ("Umbrellas", ["Wet umbrellas stay at the entrance."])]


def choose(page: Page, form: str, name: str, data: bytes) -> None:
    """Choose a file in the form, and send it by the keyboard."""
    chosen = page.locator(form).first
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    chosen.locator("[type=file]").set_input_files(file)  # type: ignore[arg-type]  # a TypedDict
    chosen.locator("[type=submit]").press("Enter")


def cite(tab: ChatPage) -> None:
    tab.open_new_chat("diary")
    tab.send("What does the handbook say about umbrellas?")


def test_an_owner_uploads_a_pdf_that_an_agent_cites_replaces_and_deletes_it(open_tab: OpenTab) -> None:
    tab = open_tab()
    page = tab.page
    page.goto(tab.address("/settings/"))
    page.locator("#knowledge").get_by_role("link", name="Your knowledge bases").press("Enter")
    page.get_by_role("link", name="handbook").press("Enter")
    choose(page, "section form", "large.pdf", bytes(11 * 1024**2))
    expect(page.get_by_role("alert")).to_have_text("“large.pdf” has 11.0 MB; the limit is 10.0 MB.")
    cookies = page.context.cookies()
    page.context.clear_cookies(name="sessionid")
    choose(page, "section form", "museum.pdf", pdf(PAGES))
    expect(page.get_by_role("alert")).to_contain_text("The server did not take the file.")
    page.context.add_cookies(cookies)  # type: ignore[arg-type]  # a TypedDict
    choose(page, "section form", "museum.pdf", pdf(PAGES))
    expect(page.locator("[data-outcome]")).to_be_focused()
    expect(page.get_by_role("status")).to_contain_text("The file is uploaded.")
    document = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="museum.pdf"))
    expect(document).to_contain_text("Version 1: in use", timeout=READ_MILLISECONDS)
    address = page.url

    cite(tab)
    tab.wait_for_answer("Wet umbrellas stay at the entrance.")
    with page.expect_popup() as popup:
        tab.log.get_by_role("link", name="museum.pdf, p. 2: Umbrellas").first.click()
    expect(popup.value.locator("article")).to_contain_text("p. 2: Umbrellas")
    expect(popup.value.locator("article")).to_contain_text("Wet umbrellas stay at the entrance.")
    assert serious_problems(popup.value) == []
    popup.value.close()

    page.goto(address)
    page.set_viewport_size(PHONE)
    document.locator("summary").first.press("Enter")
    assert page.evaluate(OUTSIDE) == [] and page.evaluate(TOO_SMALL) == []
    assert serious_problems_in_both_schemes(page) == []
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses
    choose(page, "details[open] form", "other.pdf", pdf([("Umbrellas", ["Umbrellas go to the cloakroom."])]))
    expect(document).to_contain_text("Version 2: in use", timeout=READ_MILLISECONDS)
    expect(document).to_contain_text("Version 1: replaced")
    cite(tab)
    tab.wait_for_answer("Umbrellas go to the cloakroom.")

    page.goto(address)
    document.locator("summary").last.press("Enter")
    document.get_by_role("button", name="Delete the document").press("Enter")
    expect(page.get_by_role("status")).to_have_text("The document is deleted.")
    expect(document).to_have_count(0)
    cite(tab)
    tab.wait_for_answer("The handbook")
    expect(tab.log).not_to_contain_text("cloakroom")
