"""Record the text of all answers at every change of a page."""

from __future__ import annotations

from playwright.sync_api import Page

_RECORD = """
window.answerTexts = [];
addEventListener("DOMContentLoaded", () => {
  const record = () => {
    const elements = document.querySelectorAll("#log article.agent .prose, #live .growing");
    answerTexts.push([...elements].map(({ textContent }) => textContent).join("").trim());
  };
  const allChanges = { subtree: true, childList: true, characterData: true };
  new MutationObserver(record).observe(document.getElementById("main"), allChanges);
});
"""


def record_answers(page: Page) -> None:
    """Record the answers from the next page load on."""
    page.add_init_script(_RECORD)


def recorded_answers(page: Page) -> list[str]:
    """Return the joined text of all answers at each change since the page was loaded."""
    texts: list[str] = page.evaluate("answerTexts")
    return texts


def assert_grew_without_gaps(page: Page, whole: str) -> None:
    """Check that the answers grew to the whole text, in several steps, with no word missing or repeated at any time."""
    texts = recorded_answers(page)
    assert len(set(texts)) > 3
    assert [text for text in texts if not whole.startswith(text)] == []
