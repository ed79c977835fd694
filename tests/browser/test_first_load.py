"""Contract: the chat page loads at most 100 KB of scripts and styles, uncompressed, before a person does anything."""

import pytest
from playwright.sync_api import Response, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

MOST_BYTES = 100_000
COUNTED = {"script", "stylesheet"}


def first_load(tab: ChatPage, address: str) -> dict[str, int]:
    """Open the page; return the sizes of the scripts and styles that it has loaded, by address."""
    responses: list[Response] = []
    tab.page.on("response", lambda response: responses.append(response))
    tab.open(address)
    tab.page.wait_for_load_state("networkidle")
    counted = [response for response in responses if response.request.resource_type in COUNTED]
    return {response.url.rpartition("/")[2]: len(response.body()) for response in counted}


def test_a_new_chat_loads_little(open_tab: OpenTab) -> None:
    tab = open_tab()
    sizes = first_load(tab, "/chat/new/help_desk/")
    assert "main.js" in sizes and "chat.css" in sizes
    assert sum(sizes.values()) <= MOST_BYTES, sizes


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
    assert sum(sizes.values()) <= MOST_BYTES, sizes
