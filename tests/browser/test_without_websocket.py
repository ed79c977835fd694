"""Contract: the chat without websocket. A page whose websocket is blocked reads server-sent events by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    Request,
    Route,
    StorageState,
    WebSocket,
    expect,
)

from tests.browser.answer_recorder import assert_grew_without_gaps, record_answers
from tests.browser.blocking_proxy import BlockingProxy, Treatment
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import PERSON
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

WORDS = [f"word{number} " for number in range(1, 201)]
WHOLE = "".join(WORDS).strip()
DROP_MILLISECONDS = 4_000
RETRY_MILLISECONDS = 1_000
"""Longer than a page waits before it tries again for the first time."""
PATIENCE_MILLISECONDS = 12_000
"""Time that a page has for the script and the stream, when an earlier page of the tab has read a stream."""
STREAM_SCRIPT = "**/event_stream.js"
OF_THE_NETWORK = ("WebSocket connection to", "Failed to load resource")
"""Messages that the browser itself writes when the proxy refuses or breaks a connection."""

KEEP_HEARTBEAT = """
(() => {
  const begin = window.setInterval;
  window.setInterval = (call, delay) => {
    if (delay === 10000) window.heartbeat = call;
    return begin(call, delay);
  };
})();
"""
"""Lets a test have the heartbeat at the moment that it needs."""
SHOW_AND_BEAT = """
(status) => {
  document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  heartbeat();
  return status.textContent;
}
"""
GREET_AGAIN = """
async () => {
  const { socket } = (await import("/static/sessions_app/chat/main.js")).page;
  const handle = socket.onFrame;
  await new Promise((resolve) => {
    socket.onFrame = (frame) => {
      handle(frame);
      if (frame.type === "ready") resolve();
    };
    socket.hello();
  });
  socket.onFrame = handle;
}
"""
"""Ask for the status of the session, as after a gap in the frames, and wait until it has come."""

TIME_THE_STOP = """
(button) => button.addEventListener("click", ({ timeStamp }) => {
  const observer = new MutationObserver(() => {
    if (!document.querySelector("#log .mark")) return;
    window.millisecondsToStop = performance.now() - timeStamp;
    observer.disconnect();
  });
  observer.observe(document.getElementById("log"), { childList: true, subtree: true });
}, { capture: true, once: true });
"""
"""Measures in the page, from the press on Stop to the mark: a look from outside may come late on a busy machine."""

OpenBlocked = Callable[[], ChatPage]


@pytest.fixture
def proxy(site: Stack) -> Iterator[BlockingProxy]:
    with BlockingProxy(site.port) as running:
        yield running


@pytest.fixture
def person(browser: Browser, signed_in: Callable[[str], StorageState]) -> Iterator[BrowserContext]:
    """A browser of the demo user."""
    context = browser.new_context(storage_state=signed_in(PERSON))
    yield context
    context.close()


@pytest.fixture
def open_blocked(proxy: BlockingProxy, person: BrowserContext) -> Iterator[OpenBlocked]:
    """Function that opens tabs behind the proxy; fails the test if a page reports an error of its own."""
    tabs: list[ChatPage] = []

    def open_one() -> ChatPage:
        tabs.append(ChatPage(person.new_page(), proxy.base_url))
        tabs[-1].record_frames()
        return tabs[-1]

    yield open_one
    errors = [error for tab in tabs for error in tab.errors]
    assert [error for error in errors if not error.startswith(OF_THE_NETWORK)] == []


@pytest.fixture
def chat(open_blocked: OpenBlocked) -> ChatPage:
    """A tab with a new chat."""
    return open_blocked().open_new_chat()


def words_until(number: int) -> str:
    return "".join(WORDS[:number]).strip()


def is_stream(request: Request) -> bool:
    return "/sse/chat/" in request.url


@pytest.mark.parametrize("treatment", ["refuse", "swallow"])
def test_every_word_comes_once_in_order_through_a_reload_and_a_drop(
    treatment: Treatment, proxy: BlockingProxy, open_blocked: OpenBlocked, model: Model
) -> None:
    proxy.sockets = treatment
    chat = open_blocked()
    chat.page.goto(chat.base_url)
    with chat.page.expect_request(is_stream):
        chat.new_chat()
    model.play(Turn(text=WORDS, hold_before=[30, 60, 90], pause=0.002))
    chat.send("Count")
    expect(chat.growing).to_have_text(words_until(30))
    record_answers(chat.page)
    chat.reload()
    expect(chat.messages).to_have_text(["Count"])
    expect(chat.growing).to_have_text(words_until(30))
    model.release()
    expect(chat.growing).to_have_text(words_until(60))
    proxy.cut()
    expect(chat.status).to_have_text("Reconnecting…", timeout=3_000)
    model.release()
    chat.page.wait_for_timeout(DROP_MILLISECONDS)
    proxy.restore()
    chat.wait_until_connected()
    expect(chat.growing).to_have_text(words_until(90))
    model.release()
    chat.wait_for_answer(WHOLE)
    chat.wait_until_idle()
    assert_grew_without_gaps(chat.page, WHOLE)
    expect(chat.answers).to_have_text([WHOLE])
    chat.assert_same_after_reload()


def test_a_response_that_is_slower_than_the_stream_does_not_bring_back_an_ended_answer(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Hello."]), Turn(text=["Bye."]))
    chat.send("Hi")
    chat.wait_for_answer("Hello.")
    chat.wait_until_idle()
    held: list[tuple[Route, APIResponse]] = []
    others: list[Request] = []

    def hold_messages(route: Route) -> None:
        if '"type":"message"' in (route.request.post_data or ""):
            # A broken connection would raise an error here that nobody sees; a message has an id, and may be repeated.
            held.append((route, route.fetch(max_retries=1)))
        else:
            others.append(route.request)
            route.continue_()

    chat.page.route("**/frames/**", hold_messages)
    chat.send("Bye")
    chat.wait_for_answer("Bye.")
    chat.wait_until_idle()
    while not held:  # Its response may take longer than the answer.
        chat.page.wait_for_timeout(20)
    [(route, response)] = held
    assert response.json()["status"] == "running"
    chat.page.evaluate(GREET_AGAIN)
    others.clear()
    route.fulfill(response=response)
    while not others:  # The page sends what it has seen when it has handled the response.
        chat.page.wait_for_timeout(20)
    chat.wait_until_idle()


def test_a_script_that_comes_late_is_waited_for(proxy: BlockingProxy, open_blocked: OpenBlocked) -> None:
    proxy.sockets = "swallow"
    chat = open_blocked()
    sockets: list[WebSocket] = []
    held: list[Route] = []
    chat.page.on("websocket", lambda socket: sockets.append(socket))
    chat.page.route(STREAM_SCRIPT, lambda route: held.append(route))
    with chat.page.expect_request(STREAM_SCRIPT):
        chat.page.goto(chat.address("/chat/new/help_desk/"))
    chat.page.wait_for_timeout(RETRY_MILLISECONDS)
    held[0].continue_()
    chat.wait_until_connected()
    assert len(sockets) == 1


def test_a_page_connects_also_when_the_script_does_not_come(
    proxy: BlockingProxy, open_blocked: OpenBlocked
) -> None:
    proxy.sockets = "pass"
    chat = open_blocked()
    chat.page.add_init_script("sessionStorage.isSocketBlocked = 'true'")
    sockets: list[WebSocket] = []
    held: list[Route] = []
    chat.page.on("websocket", lambda socket: sockets.append(socket))
    chat.page.route(STREAM_SCRIPT, lambda route: held.append(route))
    chat.page.clock.install()
    with chat.page.expect_request(STREAM_SCRIPT):
        chat.page.goto(chat.address("/chat/new/help_desk/"))
    assert sockets == []
    chat.page.clock.fast_forward(PATIENCE_MILLISECONDS)
    chat.wait_until_connected()
    assert len(sockets) == 1


def test_stop_ends_the_answer_within_two_seconds(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["One ", "two ", "three"], hold_before=[2]))
    chat.send("Count")
    expect(chat.growing).to_have_text("One two ")
    chat.stop_button.evaluate(TIME_THE_STOP)
    chat.stop_button.click()
    expect(chat.marks).to_contain_text(["Stopped"])
    assert chat.page.evaluate("millisecondsToStop") < 2_000
    chat.wait_until_idle()
    model.wait_until_disconnected(seconds=10)


def test_a_confirmation_a_job_and_the_list_of_chats_work_in_two_tabs(
    chat: ChatPage, open_blocked: OpenBlocked, model: Model
) -> None:
    report = Call(name="write_report", args={"topic": "sales", "group_by": "region", "precise": True})
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
        Turn(text=["That is settled."]),
        rules={
            r'"status": "queued"': Turn(text=["I have started the report."]),
            r'"status": "cancelled"': Turn(text=["As you wish."]),
            "report": Turn(calls=[report]),
        },
    )
    title = f"A report {uuid4().hex[:8]}"
    chat.send(title)
    chat.wait_for_answer("I have started the report.")
    other = open_blocked()
    other.open(chat.page.url)
    for tab in (chat, other):
        tab.wait_for_answer("I have started the report.")
        tab.wait_until_idle()
    # A press is lost when the card of the running job gives way to its question between mouse down and up.
    expect(chat.job("Write report").get_by_role("button", name="Approve")).to_be_visible()
    chat.job("Write report").get_by_role("button", name="Cancel").click()
    for tab in (chat, other):
        tab.wait_for_answer("As you wish.")
        tab.wait_until_idle()
    other.send("Refund order 1001")
    question = chat.log.get_by_role("region", name="Approval: Refund order 1001")
    expect(question.get_by_role("button", name="Approve")).to_be_visible()
    question.get_by_role("button", name="Reject").click()
    for tab in (chat, other):
        tab.wait_for_answer("That is settled.")
        tab.wait_until_idle()
        expect(tab.log.get_by_role("region", name="Approval: Refund order 1001")).to_contain_text(
            "Rejected by you"
        )
    chat.expect_entries(other.log_entries())
    other.choose(title, "Pin")
    expect(chat.page.locator("#chats")).to_contain_text("Pinned")


def test_a_sign_out_closes_the_other_tab(browser: Browser, site: Stack, proxy: BlockingProxy) -> None:
    context = browser.new_context()
    leaving, staying, home = (ChatPage(context.new_page(), proxy.base_url) for _ in range(3))
    leaving.sign_in(PERSON, site.credentials[PERSON])
    staying.page.goto(proxy.base_url)
    staying.new_chat()
    home.page.goto(proxy.base_url)
    leaving.page.get_by_role("button", name="Sign out").click()
    expect(home.page.get_by_role("alert")).to_have_text("You are signed out. Reload the page to sign in.")
    expect(staying.page.get_by_role("alert")).to_contain_text("You are signed out.")
    expect(staying.page.get_by_text("signed out").filter(visible=True)).to_have_count(1)
    context.close()


def test_a_stream_that_is_alive_outlives_a_tab_that_is_shown_just_before_the_heartbeat(
    chat: ChatPage,
) -> None:
    chat.page.add_init_script(KEEP_HEARTBEAT)
    chat.reload()
    chat.wait_until_connected()
    assert chat.status.evaluate(SHOW_AND_BEAT) == "Connected"


def test_the_next_pages_do_not_wait_until_a_websocket_answers_again(
    proxy: BlockingProxy, chat: ChatPage, model: Model
) -> None:
    proxy.sockets = "swallow"
    model.play(Turn(text=["Hello."]))
    chat.send("Hi")
    chat.wait_for_answer("Hello.")
    chat.wait_until_idle()
    chat.page.clock.install()
    # A page that waits for a swallowed websocket would wait for ever.
    chat.page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    with chat.page.expect_request(is_stream):
        chat.page.reload()
    chat.page.clock.resume()
    chat.wait_until_connected()
    proxy.sockets = "pass"
    chat.reload()
    while chat.page.evaluate("sessionStorage.isSocketBlocked"):
        chat.page.wait_for_timeout(50)
    streams: list[Request] = []
    chat.page.on("request", lambda request: streams.append(request) if is_stream(request) else None)
    chat.reload()
    assert streams == []


def test_a_handshake_without_an_answer_is_tried_again(
    proxy: BlockingProxy, open_blocked: OpenBlocked
) -> None:
    proxy.sockets = "pass"
    chat = open_blocked()
    chat.page.add_init_script(KEEP_HEARTBEAT)
    chat.open_new_chat()
    proxy.sockets = "swallow"
    proxy.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    with chat.page.expect_websocket():
        proxy.restore()
    proxy.sockets = "pass"
    for _ in range(2):
        chat.page.evaluate("heartbeat()")
    chat.wait_until_connected()
