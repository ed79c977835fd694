"""The runtime contract is complete: what cites it finds its point, and its points are shown by tests that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adk_site.embedded.paths import CHECKOUT

PAGE = CHECKOUT / "docs" / "runtime-contract.md"
LAST = {"L": 11, "E": 8, "S": 8, "A": 11, "C": 4, "T": 13, "M": 6, "F": 5, "R": 4, "W": 6, "Q": 18}

POINT = re.compile(r"^- \*\*([A-Z]\d+)\*\* (.*?)(?=^- \*\*|^## |\Z)", re.MULTILINE | re.DOTALL)
SHOWN_BY = re.compile(r"\bShown by\s+(`[^`]+`(?:,\s+`[^`]+`)*)\.\s*\Z")
CITED = re.compile(r"\bcontract\s+([A-Z]\d*(?:(?:,\s*|-)[A-Z]\d*)*)(?=[);:,.])")
SOURCES = ("adk_site", "deploy", "docs", "runtime", "sessions_app", "templates", "tests")
KINDS = {".py", ".md", ".js", ".css", ".html", ".sh"}

POINTS = dict(POINT.findall(PAGE.read_text()))


def shown_by(number: str) -> list[str]:
    """The test files that the point names."""
    found = SHOWN_BY.search(POINTS[number])
    return re.findall(r"`([^`]+)`", found[1]) if found else []


def mentions(path: Path, number: str) -> bool:
    """True if the file names the point, in a test's name or in its prose."""
    return re.search(rf"(?<![A-Za-z0-9]){number}(?![A-Za-z0-9])", path.read_text(), re.IGNORECASE) is not None


def source_files() -> Iterator[Path]:
    yield from CHECKOUT.glob("*.md")
    for folder in SOURCES:
        yield from (path for path in (CHECKOUT / folder).rglob("*") if path.suffix in KINDS)


def cited_in(text: str) -> list[str]:
    """The points and sections that a text cites."""
    return [number for cited in CITED.findall(text) for number in re.split(r",\s*|-", cited)]


def test_every_point_is_there_once() -> None:
    numbers = [number for number, _ in POINT.findall(PAGE.read_text())]
    assert numbers == [f"{letter}{n}" for letter, last in LAST.items() for n in range(1, last + 1)]


def test_citations_are_found_in_every_form() -> None:
    text = "An end (contract R1), state (contract S4,\n S5), all (contract E1-E8; docs/events.md), files (contract F)."
    assert cited_in(text) == ["R1", "S4", "S5", "E1", "E8", "F"]
    assert cited_in("Limits (docs/limits.md; contract L10).") == ["L10"]
    assert cited_in("The contract A service keeps; (contract of a service)") == []


def test_every_cited_point_exists() -> None:
    unknown = [
        f"{path.relative_to(CHECKOUT)} cites {number}"
        for path in source_files()
        for number in cited_in(path.read_text())
        if path != Path(__file__) and number not in POINTS and number not in LAST
    ]
    assert unknown == []


@pytest.mark.parametrize("number", sorted(POINTS))
def test_the_tests_of_a_point_exist_and_mention_it(number: str) -> None:
    tests = shown_by(number)
    assert tests, f"{number} does not say what shows it."
    missing = [test for test in tests if not (CHECKOUT / test).is_file()]
    assert missing == []
    assert [test for test in tests if not mentions(CHECKOUT / test, number)] == []
