"""Cutting of the sections of a file into passages: never across headings or pages, at the best places in between."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_LENGTH = 1_200
"""Characters of a passage: enough for an answer, and little enough for one meaning."""
PLACES_TO_CUT = ("\n\n", "\n", ". ", " ")
"""Ends of paragraphs, lines, sentences and words, the best first."""


@dataclass(frozen=True)
class Piece:
    """A passage that is not stored yet.

    Attributes:
        heading: headings above the passage, from the outermost.
        page: number of the page, from 1; None for files without pages.
    """

    heading: str
    page: int | None
    text: str


def cut(sections: Iterable[tuple[str, int | None, str]]) -> Iterator[Piece]:
    """Yield the passages of the sections, in order."""
    for heading, page, text in sections:
        rest = re.sub(r"\n\s*\n", "\n\n", text).strip()
        while rest:
            end = _end_of_passage(rest)
            if passage := rest[:end].strip():
                yield Piece(heading, page, passage)
            rest = rest[end:].lstrip()


def _end_of_passage(text: str) -> int:
    if len(text) <= MAX_LENGTH:
        return len(text)
    for place in PLACES_TO_CUT:
        # Not in the first half, so that no passage is much shorter than the others.
        position = text.rfind(place, MAX_LENGTH // 2, MAX_LENGTH)
        if position >= 0:
            return position + len(place)
    return MAX_LENGTH
