"""The glossary of docs/glossary.md: each word once, in alphabetical order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs/glossary.md").read_text()
TABLES = re.findall(r"^## Words of .*\n\n\| word .*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)


@pytest.mark.parametrize("table", TABLES, ids=["ADK", "site"])
def test_the_words_are_in_alphabetical_order(table: str) -> None:
    words = [row.split("|")[1].strip(" `").lower() for row in table.splitlines()]
    assert words == sorted(set(words))
