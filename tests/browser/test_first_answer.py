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


def expect_title(chat: ChatPage, title: str) -> None:
    """Wait until heading, list of chats and window have the title."""
    expect(chat.page.get_by_role("heading", level=1)).to_have_text(title)
    expect(chat.page.locator("[aria-current=page] .item-title")).to_have_text(title)
    expect(chat.page).to_have_title(f"{title} · Agents")


def test_a_chat_is_named_after_its_first_message_live_and_after_a_reload(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Yes."]))
    chat.send("Is there a lamp\n that " + "really " * 20 + "works?")
    chat.wait_for_answer("Yes.")
    title = "Is there a lamp that " + "really " * 7 + "really…"
    expect_title(chat, title)
    chat.reload()
    expect_title(chat, title)


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


@pytest.fixture(scope="module")
def web_without_key(site: Stack, model: Model) -> Iterator[Web]:
    """A web process of the site that has no key of a model, and another model for titles."""
    names = site.environment.keys() - model.environment.keys()
    environment = {name: site.environment[name] for name in names}
    with Web(site, {**environment, "TITLE_MODEL": "titles-of-a-test"}) as web:
        yield web


@pytest.fixture
def demo(browser: Browser, site: Stack, web_without_key: Web) -> Iterator[ChatPage]:
    """A tab of a person who has signed in at a site without a key."""
    chat = ChatPage(browser.new_page(reduced_motion="reduce"), web_without_key.base_url)
    chat.sign_in(PERSON, site.credentials[PERSON])
    yield chat
    assert chat.errors == []
    chat.page.close()


def test_the_title_of_a_model_takes_the_place_of_the_first_message(demo: ChatPage) -> None:
    demo.new_chat()
    demo.send("Hello")
    demo.wait_for_answer("I am a demo model")
    expect_title(demo, "A title for: Hello")
    demo.reload()
    expect_title(demo, "A title for: Hello")


def test_without_a_key_the_demo_model_shows_what_agents_can_do(demo: ChatPage, model: Model) -> None:
    expect(demo.page.get_by_text(BANNER)).to_be_visible()
    demo.new_chat()
    expect(demo.page.get_by_text(BANNER)).to_be_visible()
    demo.send("Call me Ada")
    expect(demo.tool("remember_name")).to_have_attribute("data-state", "ok")
    demo.wait_for_answer("Ada")
    demo.wait_until_idle()
    demo.send("Show an answer with sources")
    expect(demo.log.locator(".sources a")).to_have_count(3)
    demo.wait_until_idle()
    demo.send("Draw two pictures of the sea")
    expect(demo.log.locator("article.agent .picture img")).to_have_count(2)
    demo.wait_until_idle()
    demo.send("Refund order 1042")
    demo.log.get_by_role("button", name="Approve").click()
    expect(demo.log.locator(".verdict")).to_contain_text("Approved by you")
    demo.wait_until_idle()
    demo.send("Return order 20991")
    steps = demo.log.get_by_role("region", name="Steps of Returns")
    expect(steps).to_contain_text("Ask: Waiting for you")
    demo.log.get_by_role("button", name="No", exact=True).click()
    demo.wait_for_answer("Order 20991 is not refunded.")
    expect(steps.locator('[data-name="Mail customer"]')).to_contain_text("Skipped")
    demo.wait_until_idle()
    demo.send("Remind me in 20 hours to call the supplier")  # no test runs so long
    expect(demo.schedules).to_contain_text("call the supplier")
    demo.wait_until_idle()
    model.play(Turn(text=["The report is ready."]))  # asked by a worker, which has a key
    demo.send("Write a report on last year's sales")
    expect(demo.job("Write report")).to_have_attribute("data-status", "succeeded", timeout=60_000)
    demo.wait_for_answer("The report is ready.")
    demo.wait_until_idle()
    demo.assert_same_after_reload()


def test_a_wrong_password_shows_an_error(browser: Browser, site: Stack) -> None:
    page = browser.new_page()
    page.goto(site.base_url)
    page.get_by_label("User name").fill(PERSON)
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("is incorrect")
    page.close()
