"""Contract: a person signs in, sends a message, and sees the answer appear word by word."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import PERSON
from tests.browser.model import Model
from tests.model_server import Turn
from tests.stack.outages import Web
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]
BANNER = "No API key is set: a demo model answers."


def test_from_the_sign_in_page_to_an_answer_that_streams_word_by_word(
    browser: Browser, site: Stack, model: Model
) -> None:
    model.play(Turn(text=["The ", "lamp ", "works ", "again."], hold_before=[1, 2]))
    chat = ChatPage(browser.new_page(), site.base_url)
    chat.sign_in(PERSON, site.credentials[PERSON])
    expect(chat.page.get_by_text("a demo model answers")).to_have_count(0)
    chat.new_chat()
    expect(chat.send_button).to_be_disabled()

    chat.send("Is it mended?")
    expect(chat.messages).to_have_text(["Is it mended?"])
    expect(chat.growing).to_have_text("The ")
    expect(chat.answers).to_have_count(0)
    expect(chat.stop_button).to_be_visible()
    model.release()
    expect(chat.growing).to_have_text("The lamp ")
    model.release()

    chat.wait_for_answer("The lamp works again.")
    chat.wait_until_idle()
    expect(chat.answers).to_have_text(["The lamp works again."])
    expect(chat.box).to_be_focused()
    expect(chat.page.get_by_role("heading", name="Is it mended?")).to_be_visible()
    assert chat.errors == []
    chat.page.close()


def test_a_chat_is_named_after_its_first_message_live_and_after_a_reload(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Yes."]))
    chat.send("Is there a lamp\n that " + "really " * 20 + "works?")
    chat.wait_for_answer("Yes.")
    title = "Is there a lamp that " + "really " * 7 + "really…"
    for _ in ("live", "after a reload"):
        expect(chat.page.get_by_role("heading", level=1)).to_have_text(title)
        expect(chat.page.locator("[aria-current=page] .item-title")).to_have_text(title)
        expect(chat.page).to_have_title(f"{title} · Agents")
        chat.reload()


def test_thoughts_are_shown_separately_from_the_answer(chat: ChatPage, model: Model) -> None:
    model.play(Turn(thoughts=["Lamps need ", "a bulb."], text=["Change ", "the bulb."], hold_before=[2]))
    chat.send("It is dark")
    expect(chat.live.locator("header .face.teal")).to_be_visible()
    chat.live.get_by_text("Thinking").click()
    expect(chat.live.get_by_text("Lamps need a bulb.")).to_be_visible()
    model.release()
    chat.wait_for_answer("Change the bulb.")
    thoughts = chat.log.locator(".thought")
    thoughts.get_by_text("Thoughts").click()
    expect(thoughts.get_by_text("Lamps need a bulb.")).to_be_visible()
    expect(chat.log.locator("article.agent > .prose")).to_have_text(["Change the bulb."])


@pytest.fixture
def web_without_key(site: Stack, model: Model) -> Iterator[Web]:
    """A web process of the site that has no key of a model."""
    names = site.environment.keys() - model.environment.keys()
    with Web(site, {name: site.environment[name] for name in names}) as web:
        yield web


def test_without_a_key_the_page_says_that_the_demo_model_answers(
    browser: Browser, site: Stack, web_without_key: Web
) -> None:
    chat = ChatPage(browser.new_page(), web_without_key.base_url)
    chat.sign_in(PERSON, site.credentials[PERSON])
    expect(chat.page.get_by_text(BANNER)).to_be_visible()
    chat.new_chat()
    expect(chat.page.get_by_text(BANNER)).to_be_visible()
    chat.send("Call me Ada")
    expect(chat.tool("remember_name")).to_have_attribute("data-state", "ok")
    chat.wait_for_answer("Ada")
    chat.wait_until_idle()
    assert chat.errors == []
    chat.page.close()


def test_a_wrong_password_shows_an_error(browser: Browser, site: Stack) -> None:
    page = browser.new_page()
    page.goto(site.base_url)
    page.get_by_label("User name").fill(PERSON)
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("is incorrect")
    page.close()
