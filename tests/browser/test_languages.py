"""Contract: people chat in German, Spanish and Arabic, in their theme and their time zone, on a phone, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, Route, StorageState, ViewportSize, expect

from adk_site.embedded.paths import CHECKOUT
from tests.browser.accessibility import TOO_SMALL, serious_problems
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import PERSON
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

PHONE: ViewportSize = {"width": 360, "height": 740}
ENGLISH = re.compile(
    r"\b(Approve|Reject|Cancel|Running|Waiting|Thinking|New chat|Search|Send|Write a message|You|Files|Sign out)\b"
)
TIME_ZONE_SCRIPT = CHECKOUT / "sessions_app/static/sessions_app/chat/time_zone.js"
OUTSIDE = """() => [...document.querySelectorAll("body *")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !element.closest("pre, .scroll, .item-title, .visually-hidden, .skip, .trouble"))
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return right > innerWidth + 1 || left < -1;
  })
  .map((element) => element.outerHTML.slice(0, 150))"""


@dataclass(frozen=True)
class Words:
    """Texts that a person reads in one language."""

    locale: str
    direction: str
    approve: str
    approved: str
    cancel: str
    cancelled: str
    copy: str
    needs_you: str


LANGUAGES = {
    "de": Words(
        "de-DE",
        "ltr",
        "Genehmigen",
        "Von Ihnen genehmigt",
        "Abbrechen",
        "Abgebrochen",
        "Diese Nachricht kopieren",
        "Wartet auf Sie",
    ),
    "es": Words(
        "es-MX",
        "ltr",
        "Aprobar",
        "Aprobado por usted",
        "Cancelar",
        "Cancelado",
        "Copiar este mensaje",
        "Pendiente de usted",
    ),
    "ar": Words(
        "ar-EG", "rtl", "موافقة", "وافقت عليه أنت", "إلغاء", "أُلغيت", "نسخ هذه الرسالة", "في انتظارك"
    ),
}


@pytest.fixture(params=list(LANGUAGES))
def language(request: pytest.FixtureRequest) -> str:
    code: str = request.param
    return code


@pytest.fixture
def phone(
    browser: Browser, site: Stack, signed_in: Callable[[str], StorageState], language: str
) -> Iterator[ChatPage]:
    """A tab on the phone of a person in Tokyo whose browser asks for the language."""
    context = browser.new_context(
        storage_state=signed_in(PERSON),
        locale=LANGUAGES[language].locale,
        timezone_id="Asia/Tokyo",
        viewport=PHONE,
        reduced_motion="reduce",
    )
    tab = ChatPage(context.new_page(), site.base_url)
    yield tab
    context.close()
    assert tab.errors == []


def choose_theme(page: Page, theme: str) -> None:
    """Choose a theme in the settings, whose script is still on its way, and go back."""
    held: list[Route] = []
    page.route(THEME_SCRIPT, lambda route: held.append(route))
    page.locator(".bar button[popovertarget=side]").click()
    with page.expect_request(THEME_SCRIPT):
        page.locator(".account a[href='/settings/']").press("Enter")
    page.locator("select[name=theme]").select_option(theme)
    held.pop().continue_()
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.unroute(THEME_SCRIPT)
    # Playwright tells of no response to a redirect that the script does not follow while requests are held.
    while f'data-theme="{theme}"' not in page.request.get(page.url).text():
        page.wait_for_timeout(20)
    assert_fits(page)
    page.go_back()


THEME_SCRIPT = "**/chat/preferences.js"
VALUE_DISTANCE = """() => {
    const [label, value] = document.querySelector(".question .args").children;
    const [first, second] = [label, value].map((part) => part.getBoundingClientRect());
    return Math.max(second.left - first.right, first.left - second.right);
}"""
"""Space between an argument's label and its value, whichever direction the page has."""
GAP_OF_FACE = """(face) => {
    const name = document.createRange();
    name.selectNode(face.nextSibling);
    const [first, second] = [face, name].map((part) => part.getBoundingClientRect());
    return Math.max(second.left - first.right, first.left - second.right);
}"""


def play(model: Model) -> None:
    """Script a tool and a job that asks something, then an approval."""
    model.play(
        Turn(calls=[Call(name="remember_name", args={"name": "عمر"})]),
        Turn(
            calls=[Call(name="write_report", args={"topic": "sales", "group_by": "region", "precise": True})]
        ),
        Turn(text=["تم. **Done** with `code`."]),
        Turn(text=["As you wish."]),
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
        Turn(text=["The money is on its way."]),
    )


def say(tab: ChatPage, text: str) -> None:
    """Send a message, in whichever language the field has its label."""
    tab.page.locator("#message").fill(text)
    tab.page.locator("#message").press("Enter")


def assert_fits(page: Page) -> None:
    """Assert that nothing is outside of the window, that controls are large enough, and that axe is content."""
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(TOO_SMALL) == []
    assert serious_problems(page) == []


def test_a_whole_conversation_is_in_the_language_of_the_person(
    phone: ChatPage, model: Model, language: str
) -> None:
    page, words = phone.page, LANGUAGES[language]
    play(model)
    page.goto(phone.address("/chat/new/help_desk/"))
    root = page.locator("html")
    expect(root).to_have_attribute("lang", language)
    expect(root).to_have_attribute("dir", words.direction)
    expect(page.locator("#connection")).to_have_attribute("data-state", "connected")
    assert (box := page.locator("#message").bounding_box()) and box["height"] < 50  # one line
    say(phone, "مرحبا, hello")
    page.locator(".job").get_by_role("button", name=words.approve).click()
    page.locator(".job").get_by_role("button", name=words.cancel).click()
    phone.wait_for_answer("As you wish.")
    expect(page.locator(".job-status")).to_have_text(words.cancelled)
    say(phone, "Refund 1001")
    expect(page.locator(".question .args")).to_be_visible()
    expect(page.locator("#chats [aria-current] .badge.needs")).to_have_text(words.needs_you)
    for english in (page.locator("#title"), page.locator(".tool-brief").first):
        expect(english).to_have_css("text-align", "right" if words.direction == "rtl" else "left")
    assert page.evaluate(VALUE_DISTANCE) < 40
    for face in page.locator(".handover .face").all():
        assert face.evaluate(GAP_OF_FACE) > 4
    page.locator(".question").get_by_role("button", name=words.approve).click()
    phone.wait_for_answer("The money is on its way.")
    expect(page.locator(".verdict")).to_contain_text(words.approved)
    expect(page.get_by_role("button", name=words.copy, exact=True)).to_have_count(2)
    live = page.locator("#log").inner_text()
    shown = datetime.fromisoformat(page.locator("#log article time").first.get_attribute("datetime") or "")
    assert shown.utcoffset() == timedelta(hours=9)  # rendered by the server, in the zone of the browser
    assert_fits(page)
    choose_theme(page, "dark")
    expect(root).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    expect(page.locator("#connection")).to_have_attribute("data-state", "connected")
    assert_fits(page)
    for text in (live, page.locator("#log").inner_text()):
        assert not ENGLISH.search(text), text


@pytest.mark.parametrize(("scheme", "is_secure"), [("https", True), ("http", False)])
def test_the_cookie_of_the_time_zone_is_secure_over_https(
    browser: Browser, foreign_requests: list[str], scheme: str, is_secure: bool
) -> None:
    script = f'<script type="module">{TIME_ZONE_SCRIPT.read_text()}</script>'
    with browser.new_context() as context:
        page = context.new_page()
        page.route("**", lambda route: route.fulfill(body=script, content_type="text/html"))
        page.goto(f"{scheme}://site.example/")
        [cookie] = context.cookies()
    foreign_requests.remove(f"{scheme}://site.example/")
    assert (cookie.get("name"), cookie.get("secure")) == ("adk_time_zone", is_secure)
