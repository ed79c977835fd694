"""Contract: after Redis, PostgreSQL or a web process dies in mid-stream, the page completes the answer by itself.

No reload is needed, no word is repeated or out of order at any moment, and the status line shows the outage.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, StorageState, expect

from adk_site.embedded.postgres import Postgres
from adk_site.embedded.redis import Redis
from tests.browser.answer_recorder import record_answers, recorded_answers
from tests.browser.chat_page import RESUMED, ChatPage
from tests.browser.conftest import PERSON
from tests.browser.model import Model
from tests.model_server import Turn
from tests.stack.outages import Web, kill_postgres, kill_redis
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

WORDS = [f"word{number} " for number in range(1, 201)]
WHOLE = "".join(WORDS).strip()
OUTAGE_MILLISECONDS = 60_000


@pytest.fixture
def tabs(
    browser: Browser, site: Stack, web: Web, signed_in: Callable[[str], StorageState]
) -> Iterator[tuple[ChatPage, ChatPage]]:
    """Two tabs with the same new chat, served by different web processes."""
    window = browser.new_context(storage_state=signed_in(PERSON))
    first, second = ChatPage(window.new_page(), web.base_url), ChatPage(window.new_page(), site.base_url)
    for tab in (first, second):
        record_answers(tab.page)
    first.page.goto(first.base_url)
    address = first.new_chat()
    second.open(address.removeprefix(first.base_url))
    yield first, second
    window.close()
    for server in (Postgres(site.data), Redis(site.data)):
        server.start()


def words_until(number: int) -> str:
    return "".join(WORDS[:number]).strip()


def start_answer(tabs: tuple[ChatPage, ChatPage], model: Model, *turns: Turn) -> None:
    """Request an answer that is held after 50 words, and wait until both tabs show these words."""
    model.play(*turns)
    tabs[0].send("Count")
    for tab in tabs:
        expect(tab.growing).to_have_text(words_until(50))


def expect_complete(tab: ChatPage, *, held_at: int) -> None:
    """Check that the tab shows the complete answer and that a reload changes nothing.

    Every text that the tab has shown since its load must be a prefix of the answer.

    Args:
        tab: The tab to check.
        held_at: Number of words that the tab must have shown at some moment.
    """
    expect(tab.answers).to_have_text([WHOLE], timeout=OUTAGE_MILLISECONDS)
    tab.wait_until_idle()
    expect(tab.status).to_have_text("Connected")
    expect(tab.messages).to_have_text(["Count"])
    expect(tab.errors_shown).to_have_count(0)
    texts = recorded_answers(tab.page)
    assert {words_until(held_at), WHOLE} <= set(texts)
    assert [text for text in texts if not WHOLE.startswith(text)] == []
    tab.assert_same_after_reload()


def test_an_answer_completes_when_redis_is_killed_and_restarted_in_the_middle(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    first = tabs[0]
    start_answer(tabs, model, Turn(text=WORDS, hold_before=[50, 100]))
    kill_redis(site.data)
    model.release()
    expect(first.growing).to_have_text(words_until(100))
    Redis(site.data).start()
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)
        assert tab.errors == []
    assert len(model.requests()) == 1


def test_an_answer_completes_without_redis(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    start_answer(tabs, model, Turn(text=WORDS, hold_before=[50]))
    kill_redis(site.data)
    model.release()
    for tab in tabs:
        expect(tab.answers).to_have_text([WHOLE], timeout=OUTAGE_MILLISECONDS)
        tab.wait_until_idle()
    Redis(site.data).start()
    for tab in tabs:
        expect_complete(tab, held_at=50)


def test_an_answer_completes_when_postgresql_is_killed_and_restarted_in_the_middle(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    first = tabs[0]
    start_answer(tabs, model, Turn(text=WORDS, hold_before=[50, 100]), Turn(text=WORDS))
    kill_postgres(site.data)
    model.release()
    expect(first.growing).to_have_text(words_until(100))
    Postgres(site.data).start()
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)


def test_a_message_that_is_sent_without_postgresql_is_answered_once_after_its_restart(
    tabs: tuple[ChatPage, ChatPage], model: Model, site: Stack
) -> None:
    first = tabs[0]
    model.play(Turn(text=WORDS, hold_before=[50]))
    kill_postgres(site.data)
    first.send("Count")
    expect(first.status).to_have_text("Reconnecting…", timeout=OUTAGE_MILLISECONDS)
    Postgres(site.data).start()
    for tab in tabs:
        expect(tab.growing).to_have_text(words_until(50), timeout=OUTAGE_MILLISECONDS)
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)
    assert len(model.requests()) == 1


def test_an_answer_is_resumed_when_its_web_process_is_killed_in_the_middle(
    tabs: tuple[ChatPage, ChatPage], model: Model, web: Web
) -> None:
    first = tabs[0]
    start_answer(tabs, model, Turn(text=WORDS, hold_before=[50]), Turn(text=WORDS, hold_before=[100]))
    web.kill()
    expect(first.status).to_have_text("Reconnecting…")
    web.start()
    for tab in tabs:
        expect(tab.marks).to_have_text([RESUMED], timeout=OUTAGE_MILLISECONDS)
        expect(tab.growing).to_have_text(words_until(100))
    model.release()
    for tab in tabs:
        expect_complete(tab, held_at=50)
