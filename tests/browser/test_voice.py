"""Contract: a person dictates a message and has an answer read aloud, in browsers that can do it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import serious_problems
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]
SPEECH = """
window.SpeechRecognition = class extends EventTarget {
    constructor() { super(); window.recognition = this; window.starts = (window.starts ?? 0) + 1; }
    start() { this.emit("start"); }
    stop() { this.emit("end"); }
    abort() { this.emit("end"); }
    emit(type, fields = {}) { this.dispatchEvent(Object.assign(new Event(type), fields)); }
    hear(...said) {
        const results = said.map(([transcript, isFinal]) => Object.assign([{ transcript }], { isFinal }));
        this.emit("result", { results });
    }
};
window.spoken = [];
const speechSynthesis = {
    speak: (utterance) => window.spoken.push(utterance),
    cancel: () => window.spoken.splice(0),
};
Object.defineProperty(window, "speechSynthesis", { value: speechSynthesis });
"""
"""A browser that hears and says what the test tells it."""
NO_SPEECH = """
delete window.SpeechRecognition;
delete window.webkitSpeechRecognition;
Object.defineProperty(window, "speechSynthesis", { value: undefined });
"""
ANSWER = """# Sums

First *this*: $x^2$ is a square.

```python
secret = 1
```

| a | b |
|---|---|
| cell | cell |

- Last.
"""


def hear(page: Page, *said: tuple[str, bool]) -> None:
    page.evaluate("(said) => recognition.hear(...said)", said)


def spoken(page: Page) -> list[str]:
    texts: list[str] = page.evaluate("spoken.map(({ text }) => text)")
    return texts


def chat_with(open_tab: OpenTab, script: str) -> ChatPage:
    tab = open_tab()
    tab.page.add_init_script(script)
    tab.open("/chat/new/help_desk/")
    return tab


def dictate_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Dictate")


def test_what_is_said_goes_into_the_message_at_the_caret_and_is_not_sent(open_tab: OpenTab) -> None:
    tab = chat_with(open_tab, SPEECH)
    page = tab.page
    field, button = page.get_by_label("Message", exact=True), dictate_button(page)
    field.fill("Dear all, regards")
    field.evaluate("(field) => field.setSelectionRange(9, 9)")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#asked")).to_have_text("Listening. Press Escape to stop.")
    hear(page, ("hello", False))
    expect(field).to_have_value("Dear all, hello regards")
    hear(page, ("hallo", True), (" wor", False))
    hear(page, ("hallo", True), (" world", True))
    expect(field).to_have_value("Dear all, hallo world regards")
    field.press_sequentially("!")
    hear(page, ("hallo", True), (" world", True), ("again", False))
    expect(field).to_have_value("Dear all, hallo world! again regards")
    assert serious_problems(page) == []
    tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses
    field.press("Escape")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#asked")).to_have_text("Dictation has ended.")
    expect(page.locator("article")).to_have_count(0)
    assert page.evaluate("starts") == 1


def test_a_dictation_ends_when_its_message_is_sent(open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(text=["Hello."]))
    tab = chat_with(open_tab, SPEECH)
    page, field = tab.page, tab.page.get_by_label("Message", exact=True)
    dictate_button(page).click()
    expect(dictate_button(page)).to_have_attribute("aria-pressed", "true")
    hear(page, ("hello", False))
    field.press("Enter")
    tab.wait_for_answer("Hello.")
    expect(dictate_button(page)).to_have_attribute("aria-pressed", "false")
    hear(page, ("hello there", True))
    expect(field).to_have_value("")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("not-allowed", "The browser may not use the microphone here."),
        ("network", "The browser's speech service cannot be reached."),
        ("language-not-supported", "The dictation failed."),
    ],
)
def test_the_page_says_why_it_does_not_hear(open_tab: OpenTab, error: str, sentence: str) -> None:
    page = chat_with(open_tab, SPEECH).page
    dictate_button(page).click()
    expect(dictate_button(page)).to_have_attribute("aria-pressed", "true")
    page.evaluate("(error) => { recognition.emit('error', { error }); recognition.emit('end'); }", error)
    expect(page.get_by_role("alert")).to_contain_text(sentence)
    expect(dictate_button(page)).to_have_attribute("aria-pressed", "false")


def test_an_answer_is_read_aloud_without_code_tables_and_formulas(open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(text=[ANSWER]))
    tab = chat_with(open_tab, SPEECH)
    tab.send("Sums?")
    tab.wait_for_answer("Last.")
    page = tab.page
    page.get_by_role("button", name="Read aloud").press("Enter")
    stop = page.get_by_role("button", name="Stop reading")
    expect(stop).to_be_visible()
    told = [
        "Sums",
        "First this:  a formula  is a square.",
        "Code is left out.",
        "A table is left out.",
        "Last.",
    ]
    assert spoken(page) == told
    assert page.evaluate("spoken[0].lang") == "en"
    stop.press("Enter")
    expect(page.get_by_role("button", name="Read aloud")).to_be_focused()
    assert spoken(page) == []
    page.get_by_role("button", name="Read aloud").press("Enter")
    expect(stop).to_be_visible()
    page.evaluate("spoken.at(-1).dispatchEvent(new Event('end'))")
    expect(stop).to_have_count(0)
    page.get_by_role("button", name="Read aloud").press("Enter")
    expect(stop).to_be_visible()
    page.evaluate("dispatchEvent(new Event('pagehide'))")
    assert spoken(page) == []


def test_without_speech_there_are_no_buttons_for_it(open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(text=["Hello."]))
    tab = chat_with(open_tab, NO_SPEECH)
    tab.send("Hello")
    tab.wait_for_answer("Hello.")
    expect(tab.page.get_by_role("button", name="Good answer")).to_have_count(1)
    for name in ("Dictate", "Read aloud"):
        expect(tab.page.get_by_role("button", name=name)).to_have_count(0)
