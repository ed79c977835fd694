"""Contract: a stopped or failed answer keeps its text, shows the reason, and a failed one can be retried."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Failure, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

STOP_SECONDS = 2.0
RELOAD_MILLISECONDS = 2_000
"""A page that has lost a script is loaded again within this time, if at all."""
MIN_GAP = 8
"""Pixels between a text that broke off and its error."""
SEEK = """([selector, milliseconds]) => {
  const [animation] = document.querySelector(selector)?.getAnimations() ?? [];
  if (!animation) return false;
  animation.pause();
  animation.currentTime = milliseconds;
  return true;
}"""
"""Set the clock of an element's animation; false until the page and its styles are there."""
INTERNAL = re.compile(r"Traceback|\be-[0-9a-f]{8}|[A-Z]{2,}_[A-Z]+|\b(SAFETY|INTERNAL)\b")
"""Words of programs: ids of invocations, codes of errors."""
FAILURES = {
    "quota": (
        Turn(
            failure=Failure(
                http_status=429, status="RESOURCE_EXHAUSTED", message="No quota is left.", retry_delay="3600s"
            )
        ),
        "The model is overloaded.",
    ),
    "server": (
        Turn(failure=Failure(http_status=500, status="INTERNAL", message="It broke.", retry_after="3600")),
        "The model could not answer.",
    ),
    "safety": (Turn(block_reason="SAFETY"), "safety rules"),
}


def test_a_page_whose_script_does_not_start_says_so_and_can_be_reloaded(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.page.emulate_media(reduced_motion="reduce")
    held: list[Route] = []
    notice = tab.page.locator("#not-started")
    tab.page.route("**/socket.js", lambda route: held.append(route))
    tab.page.goto(tab.address("/chat/new/help_desk/"), wait_until="commit")
    for _ in range(2):
        tab.page.wait_for_function(SEEK, arg=["#not-started", 7_999])
        expect(notice).to_be_hidden()
        tab.page.wait_for_function(SEEK, arg=["#not-started", 8_001])
        expect(notice).to_be_visible()
        expect(notice).to_contain_text("This page has not started.")
        if len(held) == 1:
            notice.get_by_role("link", name="Reload").click(no_wait_after=True)
            while len(held) == 1:
                tab.page.wait_for_timeout(20)
    held[1].continue_()
    tab.wait_until_connected()
    expect(notice).to_have_count(0)
    tab.errors.clear()  # the browser reports the failed request


@pytest.mark.parametrize(("address", "script"), [("/chat/new/help_desk/", "socket.js"), ("/", "chats.js")])
def test_a_page_whose_script_is_lost_is_loaded_again_once(
    open_tab: OpenTab, address: str, script: str
) -> None:
    """As when the network changes in the middle: a browser then breaks off all requests."""
    tab = open_tab()
    notice = tab.page.locator("#not-started")
    tab.page.route(f"**/{script}", lambda route: route.abort("connectionaborted"), times=1)
    loads = count_loads(tab)
    tab.page.goto(tab.address(address))
    while len(loads) < 2:  # A page that is not parsed yet has no notice either.
        tab.page.wait_for_timeout(20)
    expect(notice).to_have_count(0)
    assert len(loads) == 2
    tab.page.route(f"**/{script}", lambda route: route.abort("connectionaborted"))
    tab.page.goto(tab.address("/healthz"))
    loads.clear()
    tab.page.goto(tab.address(address))
    while len(loads) == 1:
        tab.page.wait_for_timeout(20)
    tab.page.wait_for_timeout(RELOAD_MILLISECONDS)
    expect(notice).to_be_attached()
    assert len(loads) == 2
    tab.errors.clear()  # the browser reports the failed requests


def test_what_is_written_on_a_page_whose_script_is_lost_stays(open_tab: OpenTab) -> None:
    tab = open_tab()
    held: list[Route] = []
    tab.page.route("**/socket.js", lambda route: held.append(route))
    loads = count_loads(tab)
    tab.page.goto(tab.address("/chat/new/help_desk/"), wait_until="commit")
    tab.box.fill("A long question")
    while not held:
        tab.page.wait_for_timeout(20)
    held[0].abort("connectionaborted")
    tab.page.wait_for_timeout(RELOAD_MILLISECONDS)
    expect(tab.box).to_have_value("A long question")
    assert len(loads) == 1
    tab.errors.clear()  # the browser reports the failed request


def test_a_page_whose_script_is_lost_stays_while_the_site_cannot_be_reached(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.page.route(re.compile(r"(main|socket)\.js$"), lambda route: route.abort("connectionrefused"))
    loads = count_loads(tab)
    tab.page.goto(tab.address("/chat/new/help_desk/"))
    tab.page.wait_for_timeout(RELOAD_MILLISECONDS)
    expect(tab.page.locator("#not-started")).to_be_attached()
    assert len(loads) == 1
    tab.errors.clear()  # the browser reports the failed requests


def count_loads(tab: ChatPage) -> list[str]:
    """Return a list that gets the address of each page that the tab loads from now on."""
    loads: list[str] = []
    tab.page.on("domcontentloaded", lambda page: loads.append(page.url))
    return loads


def test_a_part_that_does_not_load_is_reported_also_when_nothing_was_pressed(chat: ChatPage) -> None:
    chat.attach({"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"})
    chat.page.route("**/upload_files.js", lambda route: route.abort())
    chat.reload()
    missing = "A part of this page could not be loaded. Try again, or reload the page."
    expect(chat.page.locator("#notice")).to_have_text(missing)
    chat.page.unroute("**/upload_files.js")
    chat.page.locator("#attach-input").set_input_files(
        {"name": "b.txt", "mimeType": "text/plain", "buffer": b"b"}
    )
    expect(chat.uploads).to_have_count(2)
    chat.errors.clear()  # the browser reports the failed request


def test_stop_ends_the_answer_and_keeps_its_text(chat: ChatPage, open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(text=["So far ", "and no further."], hold_before=[1]), Turn(text=["Next."]))
    chat.send("Go on and on")
    expect(chat.growing).to_have_text("So far ")
    other = open_tab()
    other.open(chat.page.url)
    other.stop_button.click()
    model.wait_until_disconnected(STOP_SECONDS)
    for tab in (chat, other):
        expect(tab.marks).to_have_text(["Stopped"])
        tab.wait_until_idle()
        expect(tab.answers).to_have_text(["So far"])
        expect(tab.errors_shown).to_have_count(0)
    chat.assert_same_after_reload()
    expect(chat.marks).to_have_text(["Stopped"])

    chat.send("And now?")
    chat.wait_for_answer("Next.")


def test_a_stop_before_the_first_word_is_shown(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Never said."], hold_before=[0]))
    chat.send("Hello")
    model.wait_until_asked("Hello")
    chat.stop_button.click()
    expect(chat.marks).to_have_text(["Stopped"])
    chat.wait_until_idle()
    chat.reload()
    expect(chat.marks).to_have_text(["Stopped"])
    expect(chat.answers).to_have_count(0)


@pytest.mark.parametrize("kind", FAILURES)
def test_a_model_error_is_shown_and_can_be_retried(
    chat: ChatPage, open_tab: OpenTab, model: Model, kind: str
) -> None:
    failure, sentence = FAILURES[kind]
    model.play(failure, Turn(text=["Now it works."]))
    chat.send("Can you hear me?")
    expect(chat.errors_shown).to_have_count(1)
    expect(chat.errors_shown).to_contain_text(sentence)
    expect(chat.messages).to_have_text(["Can you hear me?"])
    for reload in (chat.reload, lambda: None):
        expect(chat.errors_shown).to_have_count(1)
        shown = chat.page.locator("body").inner_text()
        assert not INTERNAL.search(shown), shown
        reload()

    other = open_tab()
    other.open(chat.page.url)
    chat.retry_button.click()
    for tab in (chat, other):
        tab.wait_for_answer("Now it works.")
        expect(tab.retry_button).to_have_count(0)
        expect(tab.messages).to_have_text(["Can you hear me?"])
        expect(tab.errors_shown).to_have_count(0)
    chat.reload()
    expect(chat.retry_button).to_have_count(0)


def test_an_answer_that_the_model_breaks_off_keeps_its_text_and_shows_an_error(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Half an "], ending="cut"), Turn(text=["A whole answer."]))
    chat.send("Tell me")
    expect(chat.errors_shown).to_have_count(1)
    expect(chat.answers).to_have_text(["Half an"])
    text, error = chat.answers.bounding_box(), chat.errors_shown.bounding_box()
    assert text and error
    assert error["y"] - text["y"] - text["height"] >= MIN_GAP
    chat.retry_button.click()
    chat.wait_for_answer("A whole answer.")
    chat.wait_until_idle()
    assert [content["role"] for content in model.requests()[-1]["body"]["contents"]] == ["user"]


def test_staff_open_the_cause_below_an_error_live_and_after_a_reload(
    staff_chat: ChatPage, model: Model
) -> None:
    model.play(FAILURES["server"][0])
    staff_chat.send("Can you hear me?")
    cause = staff_chat.log.locator("details", has_text="Cause of the error")
    for _ in range(2):
        cause.locator("summary").click()
        expect(cause).to_contain_text("It broke.")
        expect(cause).to_have_count(1)
        staff_chat.reload()


def test_only_the_last_message_can_be_retried(chat: ChatPage, model: Model) -> None:
    model.play(Turn(block_reason="SAFETY"), Turn(block_reason="SAFETY"), Turn(text=["Fine."]))
    for number, text in enumerate(["One", "Two"], 1):
        chat.send(text)
        expect(chat.errors_shown).to_have_count(number)
        expect(chat.retry_button).to_have_count(1)
    chat.reload()
    expect(chat.errors_shown).to_have_count(2)
    expect(chat.retry_button).to_have_count(1)
    chat.send("Three")
    chat.wait_for_answer("Fine.")
    expect(chat.retry_button).to_have_count(0)


def test_a_late_response_with_outcomes_does_not_replace_newer_ones(chat: ChatPage, model: Model) -> None:
    model.play(Turn(block_reason="SAFETY"), Turn(text=["Fine."]))
    chat.send("One")
    expect(chat.retry_button).to_have_count(1)
    held: list[Route] = []
    chat.page.route("**/events/?before=*", lambda route: held.append(route))
    with chat.page.expect_request("**/events/?before=*"):
        chat.reload()
    chat.send("Two")
    chat.wait_for_answer("Fine.")
    chat.wait_until_idle()
    expect(chat.retry_button).to_have_count(0)
    with chat.page.expect_response("**/events/?before=*") as late:
        held[0].continue_()
    late.value.finished()
    chat.page.evaluate("new Promise((done) => setTimeout(done))")
    expect(chat.retry_button).to_have_count(0)
    expect(chat.errors_shown).to_have_count(1)


def test_a_retry_button_keeps_the_focus_when_outcomes_are_read_again(chat: ChatPage, model: Model) -> None:
    model.play(Turn(block_reason="SAFETY"), Turn(block_reason="SAFETY"), Turn(text=["Fine."]))
    for number, text in enumerate(["One", "Two"], 1):
        chat.send(text)
        expect(chat.errors_shown).to_have_count(number)
    held: list[Route] = []
    chat.page.route("**/events/?before=*", lambda route: held.append(route))
    with chat.page.expect_request("**/events/?before=*"):
        chat.reload()
    chat.retry_button.focus()
    with chat.page.expect_response("**/events/?before=*") as late:
        held[0].continue_()
    late.value.finished()
    # A further answer of the server comes after the page has read this one.
    chat.page.evaluate("fetch(location.href).then((page) => page.text())")
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer("Fine.")
    expect(chat.retry_button).to_have_count(0)
