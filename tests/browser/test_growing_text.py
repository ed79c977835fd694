"""Contract: the page shows each word once, in any arrival order of the frames of two processes.

Partial events arrive through Redis and committed events through PostgreSQL. So the text of the process that resumes
an answer can arrive before or after the event that announces the resume.
"""

from typing import Any

import pytest

from tests.browser.chat_page import ChatPage

pytestmark = [pytest.mark.browser, pytest.mark.stack]

SHOW_FRAMES = """
async (frames) => {
  const { LiveText } = await import("/static/sessions_app/chat/live.js");
  const region = document.createElement("div");
  const live = new LiveText(region, { onGap() {} });
  return frames.map((frame) => {
    typeof frame === "number" ? live.adoptLease(frame) : live.write(frame);
    return region.querySelectorAll(".growing").values().map((text) => text.textContent).toArray().join("");
  });
}
"""
RESUMED = 3
"""Stands for the committed event that announces the resume: the fencing token of the new lease."""


def partial(lease: int, text: str, offset: int = 0) -> dict[str, Any]:
    """Return the frame of a partial event that is sent under a lease."""
    ids = {"invocation_id": "e-1", "event_id": f"event of {lease}"}
    return {"lease": lease, **ids, "author": "helpdesk", "offset": offset, "text": text}


@pytest.mark.parametrize(
    ("frames", "texts"),
    [
        ([partial(2, "one "), RESUMED, partial(3, "one ")], ["one ", "", "one "]),
        ([partial(2, "one "), partial(3, "one "), RESUMED], ["one ", "one ", "one "]),
        ([partial(2, "one "), partial(3, "one "), partial(2, "two ", 4)], ["one ", "one ", "one "]),
        ([partial(2, "one "), RESUMED, partial(2, "two ", 4), partial(3, "1 ")], ["one ", "", "", "1 "]),
    ],
)
def test_the_text_of_a_resumed_answer_replaces_the_text_before_the_resume(
    chat: ChatPage, frames: list[Any], texts: list[str]
) -> None:
    assert chat.page.evaluate(SHOW_FRAMES, frames) == texts
