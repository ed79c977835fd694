"""Contract: the page shows each word once, in whatever order the news of two processes come.

Text goes from process to process by the fast way, events are read from PostgreSQL: who took an answer up is heard
before the event that says so, or after it.
"""

from typing import Any

import pytest

from tests.browser.chat_page import ChatPage

pytestmark = [pytest.mark.browser, pytest.mark.stack]

SHOW = """
async (news) => {
  const { LiveText } = await import("/static/sessions_app/chat/live.js");
  const region = document.createElement("div");
  const live = new LiveText(region, { onGap() {} });
  return news.map((one) => {
    typeof one === "number" ? live.takeUp(one) : live.write(one);
    return region.querySelectorAll(".growing").values().map((text) => text.textContent).toArray().join("");
  });
}
"""
TAKEN_UP = 3
"""The event that says under which lease the answer was taken up."""


def said(lease: int, text: str, offset: int = 0) -> dict[str, Any]:
    """A frame of an answer as it is told under a lease."""
    ids = {"invocation_id": "e-1", "event_id": f"event of {lease}"}
    return {"lease": lease, **ids, "author": "helpdesk", "offset": offset, "text": text}


@pytest.mark.parametrize(
    ("news", "shown"),
    [
        ([said(2, "one "), TAKEN_UP, said(3, "one ")], ["one ", "", "one "]),
        ([said(2, "one "), said(3, "one "), TAKEN_UP], ["one ", "one ", "one "]),
        ([said(2, "one "), said(3, "one "), said(2, "two ", 4)], ["one ", "one ", "one "]),
        ([said(2, "one "), TAKEN_UP, said(2, "two ", 4), said(3, "1 ")], ["one ", "", "", "1 "]),
    ],
)
def test_text_of_who_took_up_an_answer_takes_the_place_of_what_was_said_before(
    chat: ChatPage, news: list[Any], shown: list[str]
) -> None:
    assert chat.page.evaluate(SHOW, news) == shown
