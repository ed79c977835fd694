"""Contract: a scheduled task is shown in every tab, fires by itself, and can be cancelled."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

CHECK = "Check order 1003."
IS_END_IN_VIEW = """() => {
    const [last, foot] = [document.querySelector("#log article:last-child"), document.querySelector(".foot")];
    return last.getBoundingClientRect().bottom <= foot.getBoundingClientRect().top;
}"""


@pytest.fixture
def other(chat: ChatPage, open_tab: OpenTab) -> ChatPage:
    """The same chat in another tab."""
    tab = open_tab()
    tab.open(chat.page.url)
    return tab


def play_schedule(model: Model, answer: str = "I will check it.", **when: str) -> None:
    """Script a model that schedules a check, and answers when the task fires."""
    call = Call(name="schedule_task", args={"task": CHECK, **when})
    model.play(
        rules={
            "It is time": Turn(text=["Order 1003 ", "is on its way."]),
            r'"status": "scheduled"': Turn(text=[answer]),
            "check order": Turn(calls=[call]),
        }
    )


def test_a_scheduled_task_fires_by_itself_and_is_shown_as_a_scheduled_task(
    chat: ChatPage, other: ChatPage, model: Model
) -> None:
    play_schedule(model, run_at="in 3 seconds")
    chat.send("Please check order 1003 in a moment")
    chat.wait_for_answer("I will check it.")
    for tab in (chat, other):
        tab.wait_for_answer("Order 1003 is on its way.")
        expect(tab.fired_tasks).to_have_text(re.compile(rf"Scheduled.*{re.escape(CHECK)}", re.DOTALL))
        expect(tab.messages).to_have_text(["Please check order 1003 in a moment"])
        expect(tab.schedules).to_be_hidden()
        tab.wait_until_idle()
    live = chat.log_entries()
    chat.reload()
    chat.expect_entries(live)
    other.expect_entries(live)


def test_a_scheduled_task_is_shown_in_every_tab_and_can_be_cancelled_in_any(
    chat: ChatPage, other: ChatPage, model: Model
) -> None:
    play_schedule(model, every="0 9 * * 1-5")
    chat.send("Please check order 1003 every weekday")
    for tab in (chat, other):
        expect(tab.schedules.locator("summary")).to_have_text("1 scheduled task")
    chat.wait_for_answer("I will check it.")
    chat.wait_until_idle()
    chat.reload()
    chat.schedules.locator("summary").press("Enter")
    expect(chat.schedules).to_contain_text(CHECK)
    expect(chat.schedules).to_contain_text("every weekday at 09:00")
    expect(chat.schedules.locator("time")).to_have_text(re.compile("09:00|9:00"))
    chat.schedules.get_by_role("button", name=f"Cancel: {CHECK}").press("Enter")
    for tab in (chat, other):
        expect(tab.schedules).to_be_hidden()
    expect(chat.box).to_be_focused()
    chat.reload()
    expect(chat.schedules).to_be_hidden()


def test_the_opened_list_of_scheduled_tasks_covers_no_line_of_the_conversation(
    chat: ChatPage, model: Model
) -> None:
    play_schedule(model, answer="A line.\n\n" * 60 + "I will check it.", every="0 9 * * 1-5")
    chat.send("Please check order 1003 every weekday")
    chat.wait_for_answer("I will check it.")
    chat.wait_until_idle()
    chat.schedules.locator("summary").press("Enter")
    expect(chat.schedules).to_contain_text(CHECK)
    chat.page.wait_for_function(IS_END_IN_VIEW)
    chat.schedules.locator("summary").press("Enter")
    chat.page.evaluate("scrollTo(0, 0)")
    chat.schedules.locator("summary").press("Enter")
    expect(chat.schedules).to_contain_text(CHECK)
    assert chat.page.evaluate("scrollY") == 0
