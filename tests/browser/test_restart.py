"""Contract: an answer that a shutdown or a crash interrupts is resumed from its events, or fails with a reason.

(contract R1)
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import RESUMED, ChatPage
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

FAILED = "The server was restarted before this answer was complete, and it could not be taken up again."
RESUME_MILLISECONDS = 30_000


@pytest.fixture
def interrupted(chat: ChatPage, model: Model, site: Stack) -> Iterator[ChatPage]:
    """A chat with a complete answer, and a second answer that is held after its first words."""
    model.play(
        Turn(calls=[Call(name="remember_name", args={"name": "Ada"})]),
        Turn(text=["Hello Ada."]),
        Turn(text=["It takes ", "two days."], hold_before=[1]),
        Turn(text=["It takes ", "three days."], hold_before=[1]),
    )
    chat.send("I am Ada")
    chat.wait_for_answer("Hello Ada.")
    chat.wait_until_idle()
    chat.send("How long does it take?")
    expect(chat.growing).to_have_text("It takes ")
    yield chat
    if site.process.poll() is not None:
        site.start()
    chat.errors.clear()  # the browser reports each failed reconnect


def test_an_answer_is_resumed_after_sigterm_and_fails_after_a_kill_and_can_be_retried(
    interrupted: ChatPage, model: Model, site: Stack
) -> None:
    chat = interrupted
    whole = chat.log_entries()
    site.process.terminate()  # of the main process alone, which has the same effect as Ctrl-C
    assert site.wait() == 0
    assert site.processes() == []
    expect(chat.status).to_have_text("Reconnecting…")
    site.start()
    chat.wait_until_connected()
    expect(chat.marks).to_have_text([RESUMED], timeout=RESUME_MILLISECONDS)
    expect(chat.growing).to_have_text("It takes ")
    assert chat.log_entries()[: len(whole)] == whole

    site.kill()
    model.play(Turn(text=["It takes four days."]))
    site.start()
    expect(chat.errors_shown).to_contain_text(FAILED, timeout=RESUME_MILLISECONDS)
    expect(chat.growing).to_have_count(0)
    chat.reload()
    expect(chat.errors_shown).to_contain_text(FAILED)
    chat.retry_button.click()
    chat.wait_for_answer("It takes four days.")
    chat.wait_until_idle()
    expect(chat.messages).to_have_text(["I am Ada", "How long does it take?"])
    expect(chat.answers).to_have_text(["Hello Ada.", "It takes four days."])
