"""Contract: Redis, PostgreSQL or a web process dies in the middle of a stream, and the page ends complete by itself.

Issue 4, "The stream": no reload, no word twice or out of order at any moment, and the status line says what goes on.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, StorageState, expect

from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import PERSON
from tests.browser.model import Model
from tests.browser.watch import seen, watch
from tests.model_server import Turn
from tests.stack.outages import Web, kill_postgres, kill_redis
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

WORDS = [f"word{number} " for number in range(1, 201)]
WHOLE = "".join(WORDS).strip()
TAKEN_UP = "The server restarted. This answer was resumed."
OUTAGE_MILLISECONDS = 60_000


@pytest.fixture(scope="module")
def web(site: Stack) -> Iterator[Web]:
    """A second web process of the site."""
    with Web(site) as running:
        yield running


@pytest.fixture
def tabs(
    browser: Browser, site: Stack, web: Web, signed_in: Callable[[str], StorageState]
) -> Iterator[tuple[ChatPage, ChatPage]]:
    """The same new chat in two tabs, each served by another web process."""
    window = browser.new_context(storage_state=signed_in(PERSON))
    one, other = ChatPage(window.new_page(), web.base_url), ChatPage(window.new_page(), site.base_url)
    for tab in (one, other):
        watch(tab.page)
    one.page.goto(one.base_url)
    address = one.new_chat()
    other.open(address.removeprefix(one.base_url))
    yield one, other
    window.close()
    for server in (Postgres(site.data), Redis(site.data)):
        server.start()


def until(number: int) -> str:
    return "".join(WORDS[:number]).strip()


def begin_to_count(tabs: tuple[ChatPage, ChatPage], model: Model, *turns: Turn) -> None:
    """Ask for an answer that is held after 50 words, and wait until both tabs show these."""
    model.play(*turns)
    tabs[0].send("Count")
    for tab in tabs:
        expect(tab.growing).to_have_text(until(50))


def expect_complete(tab: ChatPage, *, held_at: int | None = None) -> None:
    """Every word once, at every moment, the held ones among them; and what the page shows is what is stored."""
    expect(tab.answers).to_have_text([WHOLE], timeout=OUTAGE_MILLISECONDS)
    tab.wait_until_idle()
    expect(tab.status).to_have_text("Connected")
    expect(tab.messages).to_have_text(["Count"])
    expect(tab.errors_shown).to_have_count(0)
    texts = seen(tab.page)
    assert {until(held_at), WHOLE} <= set(texts) if held_at else len(set(texts)) >= 3
    assert [text for text in texts if not WHOLE.startswith(text)] == []
    live = tab.shown()
    tab.reload()
    assert tab.shown() == live


def test_redis_is_restarted_in_the_middle_of_an_answer(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    one = tabs[0]
    begin_to_count(tabs, model, Turn(text=WORDS, hold_before=[50, 100]))
    kill_redis(site.data)
    model.release()
    expect(one.growing).to_have_text(until(100))
    Redis(site.data).start()
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)
        assert tab.errors == []
    assert len(model.requests()) == 1


def test_redis_is_away_while_an_answer_ends(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    begin_to_count(tabs, model, Turn(text=WORDS, hold_before=[50]))
    kill_redis(site.data)
    model.release()
    for tab in tabs:
        expect(tab.answers).to_have_text([WHOLE], timeout=OUTAGE_MILLISECONDS)
        tab.wait_until_idle()
    Redis(site.data).start()
    for tab in tabs:
        expect_complete(tab, held_at=50)


def test_postgresql_is_restarted_in_the_middle_of_an_answer(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    one = tabs[0]
    begin_to_count(tabs, model, Turn(text=WORDS, hold_before=[50, 100]), Turn(text=WORDS))
    kill_postgres(site.data)
    model.release()
    expect(one.growing).to_have_text(until(100))
    Postgres(site.data).start()
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)


def test_a_message_that_is_sent_while_postgresql_is_away_is_answered_once_when_it_is_back(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    one = tabs[0]
    model.play(Turn(text=WORDS, pause=0.002))
    kill_postgres(site.data)
    one.send("Count")
    expect(one.status).to_have_text("Reconnecting…", timeout=OUTAGE_MILLISECONDS)
    Postgres(site.data).start()
    for tab in tabs:
        expect_complete(tab)
    assert len(model.requests()) == 1


def test_the_web_process_is_killed_in_the_middle_of_an_answer(
    tabs: tuple[ChatPage, ChatPage], model: Model, web: Web
) -> None:
    one = tabs[0]
    begin_to_count(tabs, model, Turn(text=WORDS, hold_before=[50]), Turn(text=WORDS, hold_before=[100]))
    web.kill()
    expect(one.status).to_have_text("Reconnecting…")
    web.start()
    for tab in tabs:
        expect(tab.marks).to_have_text([TAKEN_UP], timeout=OUTAGE_MILLISECONDS)
        expect(tab.growing).to_have_text(until(100))
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)
