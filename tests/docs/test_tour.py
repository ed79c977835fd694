"""Contract: docs/tour.md shows every picture of docs/tour, and no other."""

from __future__ import annotations

import re

from adk_site.embedded.paths import CHECKOUT

DOCS = CHECKOUT / "docs"


def test_the_tour_shows_the_pictures_that_are_there() -> None:
    shown = re.findall(r"!\[[^\]]+\]\((tour/[^)]+)\)", (DOCS / "tour.md").read_text())
    assert sorted(shown) == sorted(str(file.relative_to(DOCS)) for file in (DOCS / "tour").iterdir())
