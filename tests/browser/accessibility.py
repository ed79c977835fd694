"""Checks of a page for people with a screen reader, weak sight or a phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
SERIOUS_VIOLATIONS = """async (options) => (await axe.run(document, options)).violations
  .filter(({ impact }) => ["serious", "critical"].includes(impact))
  .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 150)).join(" | ")}`)"""
SCHEMES: Mapping[Literal["dark", "light"], Sequence[str]] = {
    "dark": ("color-contrast", "link-in-text-block"),
    "light": (),
}
"""Rules of axe to check in each colour scheme: in dark those whose outcome differs, in light all, written as none."""
END_TRANSITIONS = """() => document.getAnimations()
  .filter((animation) => animation instanceof CSSTransition)
  .forEach((transition) => transition.finish())"""
PHONE: ViewportSize = {"width": 360, "height": 740}
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((element) => !element.closest("pre, .scroll, .chips, .item-title, .visually-hidden"))
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 150))"""
BROWSERS_OWN_ARROWS = """() => [...document.querySelectorAll("summary")]
  .filter((summary) => getComputedStyle(summary).listStyleType !== "none")
  .map((summary) => summary.outerHTML.slice(0, 150))"""
TOO_SMALL = """() => [...document.querySelectorAll("button, summary, .file, nav a")]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 43.5)
  .map((element) => element.outerHTML.slice(0, 150))"""


def serious_problems(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return the serious and critical accessibility violations that axe finds on the page, after its transitions.

    Args:
        page: The page; it gets axe once.
        rules: The ids of axe's rules to check; by default all.
    """
    page.evaluate(END_TRANSITIONS)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text())
    # With `preload` axe fetches all styles and sounds again, for a rule about sounds that play by themselves.
    options = {
        "resultTypes": ["violations"],
        "preload": False,
        **({"runOnly": rules} if rules else {}),
    }
    violations: list[str] = page.evaluate(SERIOUS_VIOLATIONS, options)
    return violations


def serious_problems_in_both_schemes(page: Page) -> list[str]:
    """Return the violations that axe finds in the dark scheme and in the light one, which the page keeps."""
    violations: list[str] = []
    for scheme, rules in SCHEMES.items():
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        violations += [f"{scheme}: {violation}" for violation in serious_problems(page, rules)]
    return violations


def problems_on_a_phone(page: Page) -> list[str]:
    """Return what does not fit a narrow screen, controls too small to touch, and arrows that the browser draws.

    The page keeps the phone's size.
    """
    page.set_viewport_size(PHONE)
    width = page.evaluate("document.documentElement.scrollWidth")
    scrolls = [f"the page is {width} px wide"] if width > PHONE["width"] else []
    found = (page.evaluate(script) for script in (TOO_WIDE, TOO_SMALL, BROWSERS_OWN_ARROWS))
    return [*scrolls, *chain.from_iterable(found)]


def width_in_large_letters(page: Page) -> int:
    """Return the width of the page on a phone whose letters are of twice the size. The page keeps both sizes."""
    page.set_viewport_size(PHONE)
    page.evaluate("() => { document.documentElement.style.fontSize = '200%' }")
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width
