"""Word metric: ROUGE-1 of the final response compared with the expected response.

ROUGE-1 counts common words. It is defined for words between spaces; scripts without spaces are split into characters,
otherwise a whole sentence would be a single word.
"""

import unicodedata
from collections import Counter

import snowballstemmer

from runtime.evaluation.eval_case import Invocation
from runtime.evaluation.metric import InvocationScore, Metric
from runtime.evaluation.texts import text_of

MAX_UNSTEMMED_LENGTH = 3
MAX_STEMMED_LENGTH = 100
MAX_TEXT_LENGTH = 100_000
"""Maximum number of characters to compare; the comparison blocks the event loop."""
COUNTED_BY_CHARACTER = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")
"""Scripts in which each character counts as a word: most have no spaces between words."""
COUNTED_BY_CONSONANT = ("THAI", "LAO", "KHMER", "MYANMAR")
"""Scripts without spaces between words, in which each consonant with its marks counts as a word."""

_stem_word = snowballstemmer.stemmer("porter").stemWord


class ResponseMatch(Metric):
    """F-measure of the common words of both texts, with English words reduced to their stems."""

    name = "response_match_score"

    async def score(self, actual: Invocation, expected: Invocation) -> InvocationScore:
        wanted = text_of(expected.final_response)
        if not wanted:
            return InvocationScore()
        return InvocationScore(score=rouge_1(text_of(actual.final_response), wanted))


def rouge_1(text: str, expected: str) -> float:
    """Return the harmonic mean of precision and recall of the words of `text`."""
    found = Counter(_words(text))
    wanted = Counter(_words(expected))
    common = (found & wanted).total()
    # The harmonic mean, with both denominators reduced.
    return 2 * common / (found.total() + wanted.total()) if common else 0.0


def _words(text: str) -> list[str]:
    spaced = "".join(map(_spaced, unicodedata.normalize("NFKC", text[:MAX_TEXT_LENGTH]).lower()))
    return [_stem(word) for word in spaced.split()]


def _spaced(char: str) -> str:
    """Return the character with spaces where a word begins or ends; a space for characters outside of words."""
    # Marks, such as accents, belong to the letter before them.
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
    # Porter's stemmer is for English.
    is_stemmed = word.isascii() and MAX_UNSTEMMED_LENGTH < len(word) <= MAX_STEMMED_LENGTH
    return str(_stem_word(word)) if is_stemmed else word
