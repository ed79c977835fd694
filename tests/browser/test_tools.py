"""Contract: the chat shows function calls, their responses, state deltas, transfers, confirmations and files."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from adk_site.demo.orders import find_order, invoice_csv
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def test_a_call_is_a_line_in_words_that_opens_to_its_arguments_and_result(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(calls=[Call(name="remember_name", args={"name": "Ada"})]), Turn(text=["Hello Ada!"]))
    chat.send("Call me Ada")
    chat.wait_for_answer("Hello Ada!")
    card = chat.tool("remember_name")
    expect(card).to_have_attribute("data-state", "ok")
    expect(card.locator(".tool-name")).to_have_text("Remembered name", use_inner_text=True)
    expect(card.locator(".tool-outcome")).to_have_text(re.compile(r"^(\d+ s)?$"))
    card.locator("summary").click()
    expect(card.locator(".args")).to_have_text("NameAda")
    expect(card.locator(".result")).to_contain_text("From now on this help desk calls you Ada.")
    expect(chat.log).not_to_contain_text("user:name")
    expect(chat.log).not_to_contain_text("remember_name")


def test_staff_see_names_results_as_json_and_the_state(staff_chat: ChatPage, model: Model) -> None:
    chat = staff_chat
    model.play(Turn(calls=[Call(name="remember_name", args={"name": "Ada"})]), Turn(text=["Hello Ada!"]))
    chat.send("Call me Ada")
    chat.wait_for_answer("Hello Ada!")
    card = chat.tool("remember_name")
    expect(card.locator("code")).to_have_text("remember_name")
    expect(card.locator(".tool-outcome")).to_have_text(re.compile(r"^\d+ m?s$"))
    card.locator("summary").click()
    expect(card.locator(".result")).to_contain_text('"message": ')
    expect(chat.state_changes).to_have_text(["state: user:name = Ada"])
    chat.known_state.locator("summary").click()
    expect(chat.known_state.locator("dl > div")).to_have_text(["user:nameAda"])
    chat.reload()
    expect(chat.known_state.locator("dl > div")).to_have_text(["user:nameAda"])


def test_a_failed_call_is_marked_and_shows_the_reason(chat: ChatPage, model: Model) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="order_status", args={"order_number": 7})]),
        Turn(text=["That order does not exist."]),
    )
    chat.send("Where is order 7?")
    chat.wait_for_answer("does not exist")
    card = chat.tool("order_status")
    expect(card).to_have_attribute("data-state", "failed")
    expect(card.locator(".tool-outcome")).to_contain_text("Failed")
    card.locator("summary").click()
    expect(card.locator(".result")).to_contain_text("There is no order 7.")


def test_a_transfer_is_shown_and_the_answers_name_their_agents(chat: ChatPage, model: Model) -> None:
    model.play(
        Turn(text=["One moment."], calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(text=["I look after orders."]),
    )
    chat.send("Something on my order")
    chat.wait_for_answer("I look after orders.")
    expect(chat.log.get_by_text("Help desk handed over to Orders")).to_have_count(1)
    expect(chat.log.locator(".handover .face")).to_have_count(2)
    expect(chat.log.locator("article.agent .author")).to_have_text(["Help desk", "Orders"])
    expect(chat.log.locator("article.agent header .face")).to_have_count(2)


def test_each_of_several_parallel_calls_shows_its_own_result(chat: ChatPage, model: Model) -> None:
    calls = [Call(name="order_status", args={"order_number": number}) for number in (1001, 1002)]
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=calls),
        Turn(text=["Both are known."]),
    )
    chat.send("Orders 1001 and 1002?")
    chat.wait_for_answer("Both are known.")
    cards = chat.tool("order_status")
    expect(cards).to_have_count(2)
    for card, number in zip(cards.all(), (1001, 1002), strict=True):
        card.locator("summary").click()
        expect(card.locator(".args")).to_contain_text(str(number))
        expect(card.locator(".result")).to_contain_text(f"Order: {number}")


def test_each_of_several_parallel_calls_ends_by_itself(
    open_tab: OpenTab, model: Model, tmp_path: Path
) -> None:
    chat = open_tab(STAFF)
    chat.open_new_chat("questions")
    awaited, missing = tmp_path / "awaited", tmp_path / "missing"
    calls = [Call(name="wait_for_file", args={"path": str(path)}) for path in (awaited, missing)]
    failing = Call(name="wait_for_stone", args={})
    model.play(Turn(calls=[*calls, failing]), Turn(text=["All are there."]))
    chat.send("Wait for the files")
    cards = chat.tool("wait_for_file")
    expect(chat.tool("wait_for_stone")).to_have_attribute("data-state", "failed")
    awaited.touch()
    expect(cards.nth(0)).to_have_attribute("data-state", "ok")
    expect(cards.nth(1)).to_have_attribute("data-state", "open")
    expect(cards.nth(0).locator(".tool-outcome")).to_have_text(re.compile(r"^\d+ m?s$"))
    missing.touch()
    chat.wait_for_answer("All are there.")
    before_reload = [card.inner_text() for card in cards.all()]
    assert len(set(before_reload)) == 2
    chat.reload()
    assert [card.inner_text() for card in cards.all()] == before_reload


def test_a_file_that_a_tool_wrote_downloads_completely_under_its_name(
    chat: ChatPage, model: Model, tmp_path: Path
) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="write_invoice", args={"order_number": 1001})]),
        Turn(text=["Here it is."]),
    )
    chat.send("The invoice of order 1001, please")
    chat.wait_for_answer("Here it is.")
    order = find_order(1001)
    assert order is not None
    assert chat.save("invoice-1001.csv", tmp_path) == invoice_csv(order).encode()


def test_files_written_one_after_the_other_are_all_listed(
    chat: ChatPage, model: Model, tmp_path: Path
) -> None:
    numbers = (1001, 1002, 1003, 1004)
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="write_invoice", args={"order_number": number}) for number in numbers]),
        Turn(text=["Four invoices."]),
    )
    chat.send("All my invoices")
    chat.wait_for_answer("Four invoices.")
    expect(chat.files).to_have_text([f"invoice-{number}.csv" for number in numbers])
    fourth = find_order(1004)
    assert fourth is not None
    assert chat.save("invoice-1004.csv", tmp_path) == invoice_csv(fourth).encode()


def test_a_refund_waits_for_the_confirmation_which_every_tab_shows(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
        Turn(text=["Not yet."], hold_before=[0]),
        Turn(text=["That is settled."]),
    )
    chat.send("Refund order 1001")
    question = chat.log.get_by_role("region", name="Approval: Refund order 1001")
    expect(question).to_contain_text("Refund order 1001?")
    expect(question).to_contain_text("1001")
    expect(question.get_by_role("button", name="Approve")).to_be_visible()
    chat.reload()
    expect(chat.answers.filter(has_text="settled")).to_have_count(0)
    other = open_tab()
    other.open(chat.page.url)
    chat.send("Is it done?")
    for tab in (chat, other):
        expect(tab.page.locator("#working")).to_be_visible()
        expect(tab.page.locator("#working")).to_contain_text("Thinking…")
        expect(tab.tool("refund_order").locator(".tool-running")).to_be_hidden()
    model.release()
    chat.wait_for_answer("Not yet.")

    question.get_by_role("button", name="Reject").click()
    chat.wait_for_answer("That is settled.")
    for tab in (chat, other):
        answered = tab.log.get_by_role("region", name="Approval: Refund order 1001")
        expect(answered).to_contain_text("Rejected by you")
        expect(answered.get_by_role("button")).to_have_count(0)
        card = tab.tool("refund_order")
        expect(card.locator(".tool-name")).to_have_text("Refund order 1001", use_inner_text=True)
        expect(card).to_have_attribute("data-state", "declined")


def test_a_code_block_shows_its_language_and_can_be_copied_by_keyboard(chat: ChatPage, model: Model) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    model.play(Turn(text=["Try this:\n\n```python\n", "print('hello')\n", "```\n"]))
    chat.send("Some code")
    block = chat.wait_for_answer("Try this").locator(".code")
    expect(block.locator(".code-head")).to_contain_text("python")
    block.get_by_role("button", name="Copy").press("Enter")
    expect(block.get_by_role("button", name="Copied")).to_be_visible()
    assert chat.page.evaluate("navigator.clipboard.readText()") == "print('hello')\n"
