"""Embeddings: texts as vectors, of which those of texts with a like meaning point in like directions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.models.failures import UnreadableAnswer

CHARACTERS_OF_TOKEN = 4
"""Estimate for answers that do not count their tokens."""


@dataclass(frozen=True)
class Embeddings:
    """Vectors of texts, in the order of the texts, each of length 1.

    Attributes:
        tokens: tokens of the texts, by the server or estimated.
    """

    vectors: list[list[float]]
    tokens: int

    @classmethod
    def of(
        cls, texts: Sequence[str], vectors: Sequence[Sequence[float]], dimensions: int, tokens: int | None
    ) -> "Embeddings":
        """Return the vectors of a server's answer; estimate the tokens if it has not counted them.

        Raises:
            UnreadableAnswer: the server sent other vectors than it was asked for.
        """
        lengths = sorted({len(vector) for vector in vectors})
        if len(vectors) != len(texts) or lengths != [dimensions]:
            raise UnreadableAnswer(
                f"{len(vectors)} vectors with {lengths} numbers each, in place of {len(texts)} with {dimensions}"
            )
        if not tokens:
            tokens = math.ceil(sum(map(len, texts)) / CHARACTERS_OF_TOKEN)
        return cls([_unit_vector(vector) for vector in vectors], tokens)


def _unit_vector(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        raise UnreadableAnswer("a vector without a direction")
    return [number / length for number in vector]
