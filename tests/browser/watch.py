"""A watch over every moment of a page: what the answers said, whenever anything changed."""

from __future__ import annotations

from playwright.sync_api import Page

_WATCH = """
window.seen = [];
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const texts = document.querySelectorAll("#log article.agent .prose, #live .growing");
    seen.push([...texts].map((one) => one.textContent).join("").trim());
  };
  const everything = { subtree: true, childList: true, characterData: true };
  new MutationObserver(look).observe(document.getElementById("main"), everything);
});
"""


def watch(page: Page) -> None:
    """Begin with the next page that is loaded."""
    page.add_init_script(_WATCH)


def seen(page: Page) -> list[str]:
    """What all answers together said at each moment since the page was loaded."""
    told: list[str] = page.evaluate("seen")
    return told
