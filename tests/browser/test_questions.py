"""Contract: each question of an agent is a form that the keyboard answers; the page keeps no secret."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests import oauth_mcp_server
from tests.browser.accessibility import serious_problems
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

SECRET = "s3cr3t-0123456789"
FOCUSED = "() => document.activeElement !== document.body"


@pytest.fixture
def chat(open_tab: OpenTab) -> ChatPage:
    return open_tab().open_new_chat("questions")


def play(model: Model, *calls: Call, then: str = "Thank you.") -> None:
    turns = [turn for call in calls for turn in (Turn(calls=[call]), Turn(text=[then]))]
    model.play(*turns)


def press_until(chat: ChatPage, wanted: Locator) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(40):
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
        chat.page.keyboard.press("Tab")
    raise AssertionError("Tab does not reach the element")


def begin_at(question: Locator) -> None:
    """Put the focus on the question, as after reading it."""
    question.evaluate("(element) => { element.tabIndex = -1; element.focus(); }")


def is_kept(chat: ChatPage, secret: str) -> bool:
    kept: bool = chat.page.evaluate(
        """(secret) => [localStorage, sessionStorage].some((storage) => JSON.stringify({...storage}).includes(secret))
            || document.documentElement.outerHTML.includes(secret)
            || [...document.querySelectorAll("input")].some((input) => input.value.includes(secret))""",
        secret,
    )
    return kept


def test_a_choice_is_made_with_the_keyboard_and_shown_in_all_tabs_and_after_a_reload(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    options = ["Bern", "<script>alert(1)</script>", "\u202eevil", 7, "x" * 10_000]
    play(model, Call(name="get_user_choice", args={"options": options}), then="Bern it is.")
    chat.send("Where?")
    question = chat.log.get_by_role("form", name=re.compile("^Choice: Bern"))
    expect(question.get_by_role("button")).to_have_count(5)
    other = open_tab()
    other.open(chat.page.url)
    begin_at(question)
    press_until(chat, question.get_by_role("button", name="Bern", exact=True))
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer("Bern it is.")
    # The picture of the agent is beside its answers and in the choice of agents.
    for picture in (
        chat.log.locator("article.agent header img.face").last,
        chat.page.locator("#pick img.face"),
    ):
        assert picture.evaluate("(picture) => picture.decode().then(() => picture.naturalWidth)") > 0
    for tab in (chat, other):
        expect(tab.log.get_by_text("You chose Bern")).to_be_visible()
        expect(tab.log.get_by_role("button", name="Bern", exact=True)).to_be_hidden()
    expect(question).to_be_focused()
    chat.reload()
    expect(chat.log.get_by_text("You chose Bern")).to_be_visible()
    expect(question.get_by_role("button")).to_have_count(0)


@pytest.mark.forwarded
@pytest.mark.parametrize(
    ("kind", "name", "inputs", "lengths"),
    [
        ("key", "A key is needed", ["Key (X-Key)"], "Api key: 17"),
        ("bearer", "A token is needed", ["Token"], "Token: 17"),
        ("basic", "A user name and a password are needed", ["User name", "Password"], "Password: 17"),
    ],
)
def test_a_credential_is_given_with_the_keyboard_and_kept_nowhere_on_the_page(
    chat: ChatPage, open_tab: OpenTab, model: Model, kind: str, name: str, inputs: list[str], lengths: str
) -> None:
    play(model, Call(name="check_credential", args={"kind": kind}), then="Got it.")
    chat.send("Check it")
    question = chat.log.get_by_role("form", name=name)
    other = open_tab()
    other.open(chat.page.url)
    begin_at(question)
    for label in inputs:
        press_until(chat, question.get_by_label(label, exact=True))
        chat.page.keyboard.type(SECRET)
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer("Got it.")
    expect(question).to_contain_text("Given by you, ")
    expect(question).to_be_focused()
    expect(chat.tool("check_credential").locator(".result")).to_contain_text(lengths)
    expect(other.log.get_by_text("Given by you")).to_be_visible()
    sent = [frame for frame in chat.connection.sent if SECRET in str(frame)]
    assert len(sent) == 1
    assert not is_kept(chat, SECRET) and not is_kept(other, SECRET)
    chat.reload()
    expect(question).to_contain_text("Given by you, ")
    assert not is_kept(chat, SECRET)


def test_access_is_granted_on_another_page_whose_address_comes_back(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="check_credential", args={"kind": "oauth"}), then="Got it.")
    chat.send("Check it")
    question = chat.log.get_by_role("form", name="Your permission is needed")
    link = question.get_by_role("link", name="Grant access")
    expect(link).to_have_attribute("href", "https://accounts.example/grant?client_id=me")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    begin_at(question)
    press_until(chat, question.get_by_role("textbox"))
    chat.page.keyboard.type(f"https://shop.example/back?code={SECRET}")
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer("Got it.")
    expect(question).to_contain_text("Given by you, ")
    assert not is_kept(chat, SECRET)


def test_a_sign_in_in_another_tab_lets_the_run_go_on(
    open_tab: OpenTab, model: Model, notes: oauth_mcp_server.Service
) -> None:
    chat = open_tab().open_new_chat("notes")
    place = re.sub(r"\W", "_", f"{notes.url.removeprefix('http://')}/mcp")
    model.play(
        Turn(calls=[Call(name=f"sign_in_to_{place}", args={})]),
        Turn(calls=[Call(name="read_notes", args={})]),
        Turn(text=["Buy milk it is."]),
    )
    chat.send("My notes?")
    question = chat.log.get_by_role("form", name="Your sign-in is needed")
    begin_at(question)
    press_until(chat, question.get_by_role("link", name="Sign in at 127.0.0.1"))
    with chat.page.context.expect_page() as opened:
        chat.page.keyboard.press("Enter")
    tab = opened.value
    expect(tab.get_by_role("status")).to_contain_text("The chat goes on by itself")
    assert tab.evaluate("window.opener") is None
    assert serious_problems(tab) == []
    chat.wait_for_answer("Buy milk it is.")
    expect(question).to_contain_text("Given by you, ")
    assert notes.calls == ["read_notes"]
    tab.close()


def test_a_call_is_allowed_for_the_chat_and_the_allowance_withdrawn_with_the_keyboard(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play(model, *[Call(name="pay", args={"amount": amount}) for amount in (1, 2, 3)], then="Paid.")
    chat.send("Pay 1")
    question = chat.log.get_by_role("region", name="Approval: Pay 1 euros")
    begin_at(question)
    press_until(chat, question.get_by_role("button", name="Allow for this chat"))
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer("Paid.")
    expect(question).to_contain_text("Allowed for this chat by you, ")
    expect(question).to_be_focused()
    chat.wait_until_idle()

    chat.send("Pay 2")
    expect(chat.answers).to_have_count(2)
    second = chat.tool("pay").nth(1)
    expect(second.locator(".tool-outcome")).to_contain_text("Allowed earlier")
    second.locator("summary").click()
    expect(second.locator(".result")).to_contain_text("Allowed earlier in this chat by you, ")
    chat.wait_until_idle()

    other = open_tab()
    other.open(chat.page.url)
    begin_at(question)
    press_until(chat, question.get_by_role("button", name="Ask me again"))
    chat.page.keyboard.press("Enter")
    expect(chat.marks).to_have_text(["Questions asks you again before each “Pay”."])
    assert chat.page.evaluate(FOCUSED)
    for tab in (chat, other):
        expect(tab.log.get_by_role("button", name="Ask me again")).to_be_hidden()
    chat.reload()
    expect(chat.marks).to_have_count(1)
    expect(chat.log.get_by_role("button", name="Ask me again")).to_be_hidden()
    chat.send("Pay 3")
    expect(chat.log.get_by_role("region", name="Approval: Pay 3 euros")).to_be_visible()


def test_approvals_of_one_turn_stand_apart(chat: ChatPage, model: Model) -> None:
    model.play(Turn(calls=[Call(name="pay", args={"amount": amount}) for amount in (1, 2)]))
    chat.send("Pay both")
    first, second = (
        chat.log.get_by_role("region", name=f"Approval: Pay {amount} euros") for amount in (1, 2)
    )
    expect(second).to_be_visible()
    # Measured at once: the page may scroll between two measurements.
    gap = first.evaluate(
        "(first, second) => second.getBoundingClientRect().top - first.getBoundingClientRect().bottom",
        second.element_handle(),
    )
    assert gap >= 10


def test_the_fields_of_a_confirmation_are_filled_in_with_the_keyboard(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="take_leave", args={"days": 3}), then="Enjoy.")
    chat.send("Leave, please")
    question = chat.log.get_by_role("region", name="Approval: Take leave")
    days = question.get_by_label("Days", exact=True)
    expect(days).to_have_value("3")
    begin_at(question)
    press_until(chat, days)
    chat.page.keyboard.type("5")
    press_until(chat, question.get_by_label("Paid", exact=True))
    chat.page.keyboard.press("Space")
    press_until(chat, question.get_by_label("Reason", exact=True))
    chat.page.keyboard.type("Sea")
    press_until(chat, question.get_by_role("button", name="Approve"))
    chat.page.keyboard.press("Enter")
    chat.wait_for_answer("Enjoy.")
    expect(question).to_be_focused()
    expect(question).to_contain_text("Approved by you, ")
    result = chat.tool("take_leave").locator(".result").last
    for line in ("Days: 5", "Paid: no", "Reason: Sea", "- Bern"):
        expect(result).to_contain_text(line)


@pytest.mark.forwarded
def test_an_approval_changes_no_value_that_the_person_has_not_touched(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="send_letter", args={}), Call(name="count_stars", args={}))
    chat.send("Send the letter")
    question = chat.log.get_by_role("region", name="Approval: Send letter")
    expect(question.get_by_role("textbox", name="Text", exact=True)).to_have_value("\nDear all,\nhello\n")
    question.get_by_label("Copies").fill("2")
    question.get_by_role("button", name="Approve").click()
    chat.wait_for_answer("Thank you.")
    assert answer_of(chat, "confirm") == {"confirmed": True, "changes": {"copies": 2}}
    result = chat.tool("send_letter").locator(".result").last
    expect(result).to_contain_text(re.compile(r"^Changed: 'copies'$", re.MULTILINE))
    chat.wait_until_idle()

    chat.send("Count")
    question = chat.log.get_by_role("region", name="Approval: Count stars")
    question.get_by_role("button", name="Approve").click()
    expect(chat.tool("count_stars").locator(".result").last).to_contain_text("Is kept: yes")


@pytest.mark.forwarded
def test_an_option_is_chosen_with_all_its_digits(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="get_user_choice", args={"options": [1, 2**53 + 1]}))
    chat.send("Which?")
    chat.log.get_by_role("button", name=str(2**53 + 1), exact=True).click()
    chat.wait_for_answer("Thank you.")
    expect(chat.log.get_by_text(f"You chose {2**53 + 1}")).to_be_visible()
    assert answer_of(chat, "choose") == {"option": 1}


@pytest.mark.forwarded
def test_an_option_that_is_pressed_without_a_connection_is_sent_with_the_next_one(
    chat: ChatPage, model: Model
) -> None:
    play(model, Call(name="get_user_choice", args={"options": ["Bern", "Basel"]}))
    chat.send("Where?")
    option = chat.log.get_by_role("button", name="Basel", exact=True)
    expect(option).to_be_enabled()
    chat.connection.cut()
    expect(chat.status).to_have_text("Reconnecting…")
    option.click()
    expect(option).to_be_disabled()
    chat.connection.restore()
    chat.wait_for_answer("Thank you.")
    expect(chat.log.get_by_text("You chose Basel")).to_be_visible()


@pytest.mark.forwarded
def test_the_name_of_a_field_changes_no_object_of_the_page(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="check_credential", args={"kind": "key"}))
    chat.send("Check it")
    question = chat.log.get_by_role("form", name="A key is needed")
    question.evaluate("(form) => form.insertAdjacentHTML('beforeend', '<input name=__proto__.x value=1>')")
    question.get_by_label("Key").fill(SECRET)
    question.get_by_role("button", name="Send").click()
    chat.page.wait_for_function("() => document.activeElement.matches('.question')")
    assert chat.page.evaluate("({}).x === undefined")
    assert answer_of(chat, "respond")["response"]["__proto__"] == {"x": "1"}


def test_an_edit_takes_back_no_withdrawal_of_an_allowance(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="pay", args={"amount": 1}), then="Paid.")
    chat.send("Pay 1")
    question = chat.log.get_by_role("region", name="Approval: Pay 1 euros")
    question.get_by_role("button", name="Allow for this chat").click()
    chat.wait_for_answer("Paid.")
    chat.wait_until_idle()
    model.play(Turn(text=["Fine."]), Turn(text=["Better."]))
    chat.send("Thank you")
    chat.wait_for_answer("Fine.")
    chat.wait_until_idle()
    question.get_by_role("button", name="Ask me again").click()
    expect(chat.marks).to_have_count(1)
    message = chat.log.locator("article.person").filter(has_text="Thank you")
    message.get_by_role("button", name="Edit this message").press("Enter")
    chat.send("Thanks a lot")
    chat.wait_for_answer("Better.")
    chat.wait_until_idle()
    for _ in ("live", "after a reload"):
        expect(chat.messages).to_have_text(["Pay 1", "Thanks a lot"])
        expect(chat.marks).to_have_text(["Questions asks you again before each “Pay”."])
        expect(question.get_by_role("button", name="Ask me again")).to_be_hidden()
        chat.reload()


def answer_of(chat: ChatPage, kind: str) -> dict[str, Any]:
    """Return the fields of the last frame of a kind that the page has sent."""
    frames = [json.loads(sent) for sent in chat.connection.sent]
    last = [frame for frame in frames if frame["type"] == kind][-1]
    return {name: value for name, value in last.items() if name not in ("v", "type", "call_id", "name")}


@pytest.mark.forwarded
def test_an_answer_that_was_lost_with_a_connection_can_be_given_again(chat: ChatPage, model: Model) -> None:
    play(model, Call(name="pay", args={"amount": 1}), then="Paid.")
    chat.send("Pay 1")
    approve = chat.log.get_by_role("button", name="Approve")
    expect(approve).to_be_enabled()
    chat.wait_until_idle()
    chat.connection.silence()
    approve.click()
    expect(approve).to_be_disabled()
    chat.connection.cut()
    chat.connection.restore()
    chat.wait_until_connected()
    approve.click()
    chat.wait_for_answer("Paid.")
    expect(chat.page.locator("#notice")).to_be_hidden()


def test_a_model_is_chosen_with_the_keyboard_and_other_tabs_follow(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(
        Turn(text=["Slowly."]), Turn(text=["Again."]), Turn(text=["Quickly."]), Turn(text=["Slowly again."])
    )
    choice = chat.page.locator("#picker")
    chat.page.locator("#pick").press("Enter")
    choice.get_by_label("The agent's own").press("ArrowDown")
    expect(choice.get_by_label("Thorough")).to_be_checked()
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator("#pick")).to_have_text(re.compile(r"Questions\s+Thorough"))
    chat.send("Think about it")
    chat.wait_for_answer("Slowly.")
    chat.page.reload()
    chat.page.locator("#pick").click()
    expect(choice.get_by_label("Thorough")).to_be_checked()
    chat.page.keyboard.press("Escape")
    chat.send("Once more")
    chat.wait_for_answer("Again.")
    chat.page.locator("#pick").click()
    choice.get_by_label("The agent's own").check()
    chat.page.keyboard.press("Escape")
    chat.send("Now without thinking")
    chat.wait_for_answer("Quickly.")
    # What the page showed when it was loaded can be chosen again, too.
    other = open_tab()
    other.open(chat.page.url)
    expect(other.page.locator(".picked-model")).to_be_empty()
    chat.page.locator("#pick").click()
    choice.get_by_label("Thorough").check()
    chat.page.keyboard.press("Escape")
    chat.send("And with it")
    chat.wait_for_answer("Slowly again.")
    expect(other.page.locator(".picked-model")).to_have_text("Thorough")
    thorough = [request["model"] == "gemini-thorough" for request in model.requests()]
    assert thorough == [True, True, False, True]


def test_a_text_goes_along_to_a_new_chat_with_another_agent(chat: ChatPage) -> None:
    chat.page.get_by_label("Message", exact=True).fill("Where is my order?")
    chat.page.locator("#pick").click()
    chat.page.locator("#picker").get_by_role("link", name="Help desk").click()
    expect(chat.page.locator(".invitation-name")).to_have_text("Help desk")
    expect(chat.page.get_by_label("Message", exact=True)).to_have_value("Where is my order?")
    chat.page.get_by_label("Message", exact=True).fill("")


def test_a_task_agent_talks_to_the_person_until_its_task_is_done(chat: ChatPage, model: Model) -> None:
    model.play(
        Turn(calls=[Call(name="booker", args={"request": "a table"})]),
        Turn(text=["For how many?"]),
        Turn(calls=[Call(name="finish_task", args={"place": "Roma", "seats": 4})]),
        Turn(text=["A table for four is booked."]),
    )
    chat.send("Book a table")
    chat.wait_for_answer("For how many?")
    expect(chat.tool("booker")).to_have_attribute("data-state", "open")
    chat.wait_until_idle()
    chat.send("Four")
    chat.wait_for_answer("A table for four is booked.")
    expect(chat.tool("booker")).to_have_attribute("data-state", "ok")
    expect(chat.tool("finish_task")).to_contain_text("Place: Roma, Seats: 4")
    expect(chat.log.locator(".author")).to_have_text(["You", "Booker", "You", "Questions"])
    expect(chat.log.locator("[data-node], .steps")).to_have_count(0)
