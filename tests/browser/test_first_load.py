"""Contract: the chat page loads at most 45 KB of scripts and styles, compressed, before a person does anything."""

import pytest
from playwright.sync_api import Response, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

MAX_BYTES = 45_000
COUNTED = {"script", "stylesheet"}
TASK = Call(name="schedule_task", args={"task": "Check order 7.", "every": "0 9 * * 1-5"})
SCHEDULE_RULES = {
    r'"status": "scheduled"': Turn(text=["I will check it."]),
    "Check order": Turn(calls=[TASK]),
}


def first_load(tab: ChatPage, address: str) -> dict[str, int]:
    """Open the page; return the transferred sizes of the scripts and styles that it has loaded, by name."""
    responses: list[Response] = []
    tab.page.context.new_cdp_session(tab.page).send("Network.clearBrowserCache")
    tab.page.on("response", lambda response: responses.append(response))
    tab.open(address)
    tab.page.wait_for_load_state("networkidle")
    counted = [response for response in responses if response.request.resource_type in COUNTED]
    return {
        response.url.rpartition("/")[2]: response.request.sizes()["responseBodySize"] for response in counted
    }


def test_a_new_chat_loads_little(open_tab: OpenTab) -> None:
    tab = open_tab()
    sizes = first_load(tab, "/chat/new/help_desk/")
    assert "main.js" in sizes and "chat.css" in sizes
    assert_small(sizes)


def test_a_chat_with_calls_a_file_and_an_answer_loads_little(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    calls = [Call(name=name, args={"order_number": 1001}) for name in ("order_status", "write_invoice")]
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=calls),
        Turn(text=["It is **on its way**."]),
    )
    chat.send("Where is order 1001?")
    chat.wait_for_answer("It is on its way.")
    chat.wait_until_idle()
    tab = open_tab()
    sizes = first_load(tab, chat.page.url)
    expect(tab.files).to_have_count(1)
    assert_small(sizes)


def test_a_chat_with_a_job_and_a_scheduled_task_loads_little(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    report = Call(name="write_report", args={"topic": "sales", "group_by": "region", "precise": True})
    model.play(
        rules={
            **SCHEDULE_RULES,
            r'"status": "queued"': Turn(text=["I have started the report."]),
            r'"status": "cancelled"': Turn(text=["As you wish."]),
            "A report": Turn(calls=[report]),
        }
    )
    chat.send("A report")
    chat.wait_for_answer("I have started the report.")
    chat.wait_until_idle()
    chat.send("Check order 7 every weekday")
    chat.wait_for_answer("I will check it.")
    chat.wait_until_idle()
    tab = open_tab()
    sizes = first_load(tab, chat.page.url)
    expect(tab.job("Write report").get_by_role("button", name="Approve")).to_be_visible()
    expect(tab.schedules).to_be_visible()
    assert_small(sizes)
    tab.wait_until_connected()  # A card that is replaced during a click gets no click.
    tab.job("Write report").get_by_role("button", name="Cancel").click()
    expect(tab.tool("write_report")).to_contain_text("Cancelled")
    chat.wait_for_answer("As you wish.")


def test_a_chat_of_staff_who_see_details_loads_little(
    staff_chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(rules=SCHEDULE_RULES)
    staff_chat.send("Check order 7 every weekday")
    staff_chat.wait_for_answer("I will check it.")
    staff_chat.wait_until_idle()
    tab = open_tab(STAFF)
    sizes = first_load(tab, staff_chat.page.url)
    expect(tab.schedules).to_be_visible()
    assert_small(sizes)


def assert_small(sizes: dict[str, int]) -> None:
    assert sum(sizes.values()) <= MAX_BYTES, sizes
