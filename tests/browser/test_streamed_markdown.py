"""Contract: Markdown is drawn while it streams, from its first line on, and nothing changes when the answer ends."""

from os.path import commonprefix

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Turn
from tests.recorded_answer import PIECE, RECORDED

pytestmark = [pytest.mark.browser, pytest.mark.stack]

ANSWER = [
    "## Two lamps\n\n",
    "The **desk** lamp:\n\n",
    "- bright\n- **12 €",
    " 💡 each",
    "**\n\n```python\nprint('on')\n",
    "print('off')\n",
    "```\n\n| Lamp | Price |\n|---|---|\n| desk | 12",
    ".50 |\n\n",
    "That is *all",
    "*.",
]
WITHOUT_COLOURS = """
(part) => {
  const copy = part.cloneNode(true);
  for (const code of copy.querySelectorAll("pre code")) code.textContent = code.textContent;
  return copy.innerHTML;
}
"""
RECORD_FRAMES = """
() => {
  window.recordedFrames = [];
  const record = () => {
    let text = "";
    for (const part of document.querySelectorAll("#live .growing, #log article.agent .prose")) {
      text += part.textContent;
      for (const head of part.querySelectorAll(".code-head")) text = text.replace(head.textContent, "");
    }
    if (text !== recordedFrames.at(-1)) recordedFrames.push(text);
    requestAnimationFrame(record);
  };
  requestAnimationFrame(record);
}
"""
CUT_BOXES = """
(answer) => {
  const boxes = [...answer.querySelectorAll(".scroll")];
  return boxes.filter((box) => box.scrollHeight > box.clientHeight).map((box) => box.innerHTML);
}
"""
"""Tables and formulas that their boxes, which scroll sideways, cut at the top or the bottom."""
MAX_RAW = 80
"""Most visible characters of a frame behind the place where it departs from the complete answer.

As many the page withholds behind what may be a mark (`MAX_WITHHELD` of `live.js`): it shows more of them only when the
server draws too late.
"""
MIN_FRAMES = 20
"""Fewer would not show how the answer grows; 150 to 170 are usual."""


def shown(part: Locator) -> str:
    """Return the HTML without colours of code, which arrive a little later."""
    html: str = part.evaluate(WITHOUT_COLOURS)
    return "".join(html.split())


def test_each_block_is_drawn_as_it_grows_and_stays_as_it_is(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=ANSWER, hold_before=[3, 4, 5, 6, 7, 9]))
    chat.send("Which lamps are there?")
    prose = chat.growing.locator(".prose")
    expect(prose.get_by_role("heading", name="Two lamps")).to_be_visible()
    expect(prose.locator("li")).to_have_text(["bright", "12 €"])
    expect(prose.locator("li strong")).to_have_text("12 €")
    heading = prose.locator("h3")
    heading.evaluate("(heading) => heading.setAttribute('data-kept', '')")
    model.release()
    expect(prose.locator("li strong")).to_have_text("12 € 💡 each")
    model.release()
    expect(prose.locator(".code pre")).to_have_text("print('on')\n")
    expect(prose.locator(".code-head")).to_contain_text("python")
    model.release()
    expect(prose.locator(".code pre")).to_have_text("print('on')\nprint('off')\n")
    model.release()
    expect(prose.locator("td")).to_have_text(["desk", "12"])
    late = open_tab()
    late.open(chat.page.url)
    expect(late.growing.locator("td")).to_have_text(["desk", "12"])
    model.release()
    for tab in (chat, late):
        expect(tab.growing.locator("td")).to_have_text(["desk", "12.50"])
        expect(tab.growing.locator("em")).to_have_text("all")
        expect(tab.growing.locator(".hljs-string")).to_have_text(["'on'", "'off'"])
    expect(heading).to_have_attribute("data-kept", "")
    heading.evaluate("(heading) => heading.removeAttribute('data-kept')")
    live = shown(prose)
    assert live == shown(late.growing.locator(".prose"))
    model.release()
    for tab in (chat, late):
        expect(tab.answers).to_have_count(1)
        expect(tab.growing).to_have_count(0)
        assert shown(tab.log.locator(".agent .prose")) == live.replace("</em></p>", "</em>.</p>")


def test_no_frame_of_a_recorded_answer_shows_more_than_a_few_raw_characters(
    chat: ChatPage, model: Model
) -> None:
    pieces = [RECORDED[start : start + PIECE] for start in range(0, len(RECORDED), PIECE)]
    chat.page.evaluate(RECORD_FRAMES)
    model.play(Turn(text=[*pieces, "\n\nThat is all."], pause=0.005))
    chat.send("How are lamps switched?")
    chat.wait_for_answer("That is all.")
    chat.wait_until_idle()
    frames = ["".join(frame.split()) for frame in chat.page.evaluate("recordedFrames")]
    whole = frames[-1]
    assert len(frames) > MIN_FRAMES
    same = [len(commonprefix([frame, whole])) for frame in frames]  # noqa: RUF071 - of texts, not of paths
    assert max(len(frame) - length for frame, length in zip(frames, same, strict=True)) <= MAX_RAW
    assert chat.answers.evaluate(CUT_BOXES) == []
