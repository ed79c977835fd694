"""Metric of the words: ROUGE-1 of the final response against the expected response."""

from __future__ import annotations

import unicodedata
from collections import Counter

import snowballstemmer

from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.metric import InvocationScore, Metric
from runtime.evaluation.texts import text_of

MAX_UNSTEMMED_LENGTH = 3
MAX_STEMMED_LENGTH = 100
MAX_TEXT_LENGTH = 100_000
"""Characters that are compared; the event loop waits for the comparison."""
COUNTED_BY_CHARACTER = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")
"""Scripts of which each character counts as a word: most have no spaces between words."""
COUNTED_BY_CONSONANT = ("THAI", "LAO", "KHMER", "MYANMAR")
"""Scripts without spaces between words, of which each consonant with its marks counts as a word."""

_stem_word = snowballstemmer.stemmer("porter").stemWord


class ResponseMatch(Metric):
    """F-measure of the words that both texts have, English ones by their stems. Scripts of all languages count."""

    name = "response_match_score"

    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        """Compare the final responses; without an expected response there is no score."""
        wanted = text_of(expected.final_response)
        if not wanted:
            return InvocationScore()
        return InvocationScore(score=rouge_1(text_of(actual.final_response), wanted))


def rouge_1(text: str, expected: str) -> float:
    """Return the harmonic mean of precision and recall of the words of a text."""
    found = Counter(_words(text))
    wanted = Counter(_words(expected))
    common = (found & wanted).total()
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def _words(text: str) -> list[str]:
    spaced = "".join(map(_spaced, unicodedata.normalize("NFKC", text[:MAX_TEXT_LENGTH]).lower()))
    return [_stem(word) for word in spaced.split()]


def _spaced(char: str) -> str:
    """Return a letter, mark or digit with the spaces that part it from other words; a space for any other character."""
    if char.isascii() or unicodedata.category(char).startswith("M"):
        return char if char.isalnum() or not char.isascii() else " "
    if not char.isalnum():
        return " "
    script = unicodedata.name(char, "").partition(" ")[0]
    if script in COUNTED_BY_CHARACTER:
        return f" {char} "
    if script in COUNTED_BY_CONSONANT:
        return f" {char}"
    return char


def _stem(word: str) -> str:
    is_stemmed = word.isascii() and MAX_UNSTEMMED_LENGTH < len(word) <= MAX_STEMMED_LENGTH
    return str(_stem_word(word)) if is_stemmed else word
